#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

/// The order experiments made on the device (run to run, batch invariance, permutation) in one figure.
struct DeviceSpread {
  std::int64_t experiments = 0;
  std::int64_t unequal = 0;  ///< experiments that changed bits
  double max_deviation =
      0;  ///< rms deviation over the predicted one, largest; docs/numerics.md expects 0.5 to 2
  bool run_to_run_unequal = false;
};
DeviceSpread device_spread(const OrderEffects& order);

/// One line an experiment: what was varied, how many elements moved and how far.
std::vector<std::string> order_lines(const OrderEffects& order);

}  // namespace parity
