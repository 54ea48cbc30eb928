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

}  // namespace parity
