#include "harness/ladder/drift.hpp"

#include <algorithm>
#include <cmath>

namespace parity {

namespace {

DriftRecord drift_of(const TensorSpec& spec, const Tensor& got, const Value& want, const Value* bound) {
  DriftRecord drift;
  drift.tensor = spec.name;
  drift.elements = got.elements();
  double error_square = 0, want_square = 0, got_square = 0, product = 0;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double y = got.value(i), v = want.v[static_cast<std::size_t>(i)];
    if (!std::isfinite(y) || !std::isfinite(v)) {
      drift.nonfinite += !(std::isnan(y) && std::isnan(v)) && y != v;
      continue;
    }
    const double error = std::fabs(y - v);
    drift.max_abs = std::max(drift.max_abs, error);
    error_square += error * error;
    want_square += v * v;
    got_square += y * y;
    product += y * v;
    if (bound == nullptr) continue;
    const double hard = bound->hard.empty() ? 0 : bound->hard[static_cast<std::size_t>(i)];
    if (std::isnan(hard)) continue;
    const double ratio = error == 0 ? 0 : error / hard;
    drift.max_bound_ratio = std::max(drift.max_bound_ratio.value_or(0), ratio);
  }
  drift.all_zero = got_square == 0 && want_square > 0 && drift.nonfinite == 0;
  drift.relative_l2 = error_square == 0 ? 0 : std::sqrt(error_square / want_square);
  drift.cosine = want_square > 0 && got_square > 0 ? product / std::sqrt(want_square * got_square) : 1;
  return drift;
}

}  // namespace

std::vector<DriftRecord> measure_drift(const Program& program, const std::map<TensorId, Tensor>& results,
                                       const ProgramEvaluation& exact, const ProgramEvaluation* tracked) {
  std::vector<DriftRecord> drifts;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    const auto id = static_cast<TensorId>(i);
    if (spec.role != TensorSpec::Role::output || spec.is_view() || !results.contains(id)) continue;
    const Value* bound = nullptr;
    if (tracked != nullptr)
      if (const auto found = tracked->values.find(id); found != tracked->values.end()) bound = &found->second;
    drifts.push_back(drift_of(spec, results.at(id), exact.values.at(id), bound));
  }
  return drifts;
}

Result<ProgramEvaluation> evaluate_tracked(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const Assignment& assignment) {
  return evaluate_program(ops, program, inputs, {},
                          [&](std::size_t call) -> Result<std::unique_ptr<Arithmetic>> {
                            ArithmeticModel model = assignment.implementations[call]->contract;
                            model.precision.store = program.spec(program.calls[call].outputs.front()).dtype;
                            return make_tracked_arithmetic(model);
                          });
}

}  // namespace parity
