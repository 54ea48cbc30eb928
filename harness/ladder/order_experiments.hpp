#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/execution.hpp"
#include "harness/ladder/record.hpp"

namespace parity {

/// A case that ran and passed, for the order experiments.
struct OrderSubject {
  Device& device;
  const OpTable& ops;
  const Program& program;
  const std::vector<std::string> paths;
  const Implementation& implementation;  ///< of the first call
  const std::map<TensorId, Tensor>& inputs;
  const Value& want;         ///< the tracked reference of the last call's first output;
                             ///< empty: none was made
  const Contract& contract;  ///< of that output
  std::uint64_t seed = 1;
};

/// Measures what the order of summation does (docs/numerics.md, section 6): run to run from `runs`;
/// permutation, batch invariance and the emulated ensemble for Programs of one call. Leaves the execution's
/// inputs as they were.
OrderEffects measure_order_effects(const OrderSubject& subject, Execution& execution,
                                   const std::vector<RunResult>& runs);

}  // namespace parity
