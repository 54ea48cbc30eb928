#pragma once
#include <vector>

#include "harness/bisect/program_bisection.hpp"

namespace parity {

/// Where the bits of two devices part that run one program from the same inputs: what a fault planted in one
/// of them has changed, known without any reference.
struct Parting {
  bool parts = false;       ///< some result has other bits, up to and with the last step
  std::int64_t step = 0;    ///< the first such step
  std::size_t call = 0;     ///< and the first such call in it
  std::vector<bool> there;  ///< elements of `tensor` with other bits in the last step
};

/// Runs steps 0 to `last_step` on both. `tensor`: its name; empty: none is looked at.
Result<Parting> part(const BisectTarget& faulty, const BisectTarget& healthy, const BisectOptions& options,
                     std::int64_t last_step, const std::string& tensor);

}  // namespace parity
