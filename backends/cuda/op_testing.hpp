#pragma once
#include "backends/cuda/op_cases.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::cuda {

/// Runs cases of single ops on a device and says what is wrong with them.
class OpTester {
 public:
  OpTester(const OpTable& ops, Device& device) : ops_(ops), device_(device) {}

  /// Empty when nothing is wrong: the path takes the case; every output keeps its contract (tracked bounds,
  /// aggregates), and has the emulated bits where no function of unknown rounding is involved; guards, pads,
  /// inputs and what lies around views are untouched; a declared path gives the same bits twice.
  std::string fault_of(const OpCase& c, const Implementation& implementation, const Placement& placement,
                       std::uint64_t seed = 1);
  /// Outputs that were compared bit by bit so far.
  int replayed() const { return replayed_; }

 private:
  const OpTable& ops_;
  Device& device_;
  int replayed_ = 0;
};

/// Whether an op's results go through a function whose bits no standard fixes (exp, tanh, 1/sqrt, ...).
bool has_unknown_bits(std::string_view op);

}  // namespace parity::cuda
