#pragma once
#include <map>
#include <vector>

#include "harness/ladder/assignment.hpp"
#include "harness/ladder/program_reference.hpp"
#include "harness/ladder/record.hpp"

namespace parity {

/// How far the device's results of a composite program are from the exact ones, end to end: the errors of all
/// calls together. `tracked`: the same evaluated with bounds, null when that was too much work.
std::vector<DriftRecord> measure_drift(const Program& program, const std::map<TensorId, Tensor>& results,
                                       const ProgramEvaluation& exact, const ProgramEvaluation* tracked);

/// The program in tracked arithmetic, each call with the model of its implementation.
Result<ProgramEvaluation> evaluate_tracked(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const Assignment& assignment);

/// The program as an honest device computes it, whatever the order: emulated with the first arithmetic each
/// implementation may have, in sequence where it declares none.
Result<ProgramEvaluation> evaluate_emulated(const OpTable& ops, const Program& program,
                                            const std::map<TensorId, Tensor>& inputs,
                                            const Assignment& assignment);

/// Takes `all_zero` back from tensors that underflow in the devices' formats: evaluate_emulated gives all
/// zeros too (the gradient of a saturated gate).
Result<void> excuse_underflow(const OpTable& ops, const Program& program,
                              const std::map<TensorId, Tensor>& inputs, const Assignment& assignment,
                              std::vector<DriftRecord>& drifts);

}  // namespace parity
