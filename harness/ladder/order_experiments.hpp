#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/ladder/assignment.hpp"
#include "harness/ladder/execution.hpp"
#include "harness/ladder/record.hpp"

namespace parity {

/// A case that ran and passed, for the order experiments.
struct OrderSubject {
  Device& device;
  const OpTable& ops;
  const Program& program;
  const Assignment& assignment;
  const std::map<TensorId, Tensor>& inputs;
  /// Tracked references of the last call's outputs; empty: none were made.
  const std::vector<Value>& want;
  const Contract& contract;  ///< of the last output
  std::uint64_t seed = 1;
  bool sampled = false;  ///< too large for a full reference: only run to run
};

/// Measures what the order of summation does (docs/numerics.md, section 6): run to run from `runs`, and for
/// every op that declares a reduction (Op::symmetries) the call alone, on the device's own inputs to it, with
/// its terms permuted, its sums in parts, its batch entries alone and moved. The emulated ensemble for
/// Programs of one call. `measured` remembers ops, paths, attributes and shapes: all but permuted terms of a
/// program of one call is measured once for each.
OrderEffects measure_order_effects(const OrderSubject& subject, const std::vector<RunResult>& runs,
                                   std::set<std::string>& measured);

/// Adds to `measured` what measure_order_effects() would of a passing case that is not sampled.
void note_measured(const OpTable& ops, const Program& program, const Assignment& assignment,
                   std::set<std::string>& measured);

}  // namespace parity
