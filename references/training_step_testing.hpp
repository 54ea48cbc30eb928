#pragma once
// For tests: the training_step stage evaluated step by step in exact arithmetic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/ladder/program_reference.hpp"
#include "harness/ladder/stage.hpp"
#include "references/op_table.hpp"

namespace parity::training_test {

using Index = std::int64_t;
using Numbers = std::vector<double>;

inline constexpr const char* tiny =
    "training_step batch=2 seq=6 width=8 heads=2 kv_heads=1 in=f64 acc=f64 out=f64";

/// A case, its program and its state as step after step is evaluated.
class Training {
 public:
  explicit Training(const std::string& text)
      : ops_(make_op_table()), stages_(make_stage_table(ops_)), stage_(*stages_.find("training_step")) {
    auto cases = expand_pattern(text, stages_);
    EXPECT_TRUE(cases.has_value()) << (cases ? "" : cases.error().message);
    if (!cases) return;
    case_ = cases->front();
    auto program = stage_.build(case_);
    EXPECT_TRUE(program.has_value()) << (program ? "" : program.error().message);
    if (!program) return;
    program_ = *std::move(program);
    for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
      const auto role = program_.tensors[i].role;
      if (program_.tensors[i].is_view() ||
          (role != TensorSpec::Role::input && role != TensorSpec::Role::state))
        continue;
      inputs_.insert_or_assign(static_cast<TensorId>(i),
                               *stage_.fill(case_, program_, static_cast<TensorId>(i)));
    }
  }

  const Program& program() const { return program_; }
  Program& program() { return program_; }
  const std::map<TensorId, Tensor>& inputs() const { return inputs_; }
  TensorId id(std::string_view name) const {
    const auto found = program_.find(name);
    EXPECT_TRUE(found.has_value()) << name;
    return found.value_or(0);
  }
  Tensor& input(std::string_view name) { return inputs_.at(id(name)); }
  void load_step(Index step) {
    auto changed = stage_.step_inputs(case_, program_, step);
    ASSERT_TRUE(changed.has_value());
    for (auto& [id, tensor] : *changed) inputs_.insert_or_assign(id, std::move(tensor));
  }

  /// Evaluates the program on what the step before left.
  void evaluate() {
    auto evaluation = evaluate_exactly(ops_, program_, inputs_, carried_);
    ASSERT_TRUE(evaluation.has_value()) << evaluation.error().message;
    evaluation_ = *std::move(evaluation);
    before_ = carried_;
    carried_ = carried_values(program_, evaluation_);
  }
  Numbers values(TensorId id) const { return evaluation_.values.at(id).v; }
  Numbers values(std::string_view name) const { return values(id(name)); }
  double scalar(std::string_view name) const { return values(name).at(0); }
  /// What a state held at the evaluation's beginning, and holds for the next one.
  Numbers before(TensorId state) const {
    if (const auto found = before_.find(state); found != before_.end()) return found->second.v;
    Numbers numbers;
    const Tensor& tensor = inputs_.at(state);
    for (Index i = 0; i < tensor.elements(); ++i) numbers.push_back(tensor.value(i));
    return numbers;
  }
  Numbers after(TensorId state) const { return carried_.at(state).v; }

  /// Weights: states that are an optimizer's P, each with its (unclipped) gradient.
  std::map<TensorId, TensorId> gradients() const {
    std::map<TensorId, TensorId> unclipped;
    for (const OpCall& call : program_.calls)
      if (call.op == "scale_by") unclipped.emplace(call.outputs[0], call.inputs[0]);
    std::map<TensorId, TensorId> found;
    for (const OpCall& call : program_.calls)
      if (call.op == "adamw") found.emplace(call.inputs[0], unclipped.at(call.inputs[1]));
    return found;
  }

  /// The loss with `h v` added to a weight, by the forward calls alone.
  double loss_at(TensorId weight, double h, const Numbers& v) const {
    Program forward = program_;
    forward.calls.clear();
    forward.carries.clear();
    for (const OpCall& call : program_.calls) {
      forward.calls.push_back(call);
      if (call.op == "mean") break;
    }
    // The loss is the forward pass's last tensor.
    const auto count = static_cast<std::size_t>(id("loss")) + 1;
    forward.tensors.resize(count);
    std::map<TensorId, Tensor> inputs;
    for (const auto& [input, tensor] : inputs_)
      if (input < id("loss")) inputs.emplace(input, tensor);
    Tensor& tensor = inputs.at(weight);
    for (Index i = 0; i < tensor.elements(); ++i)
      tensor.set_value(i, tensor.value(i) + h * v[static_cast<std::size_t>(i)]);
    const auto evaluation = evaluate_exactly(ops_, forward, inputs);
    EXPECT_TRUE(evaluation.has_value()) << (evaluation ? "" : evaluation.error().message);
    return !evaluation ? std::nan("") : evaluation->values.at(id("loss")).v.at(0);
  }

  /// Derivative of the loss along v: central differences, extrapolated twice.
  double slope(TensorId weight, const Numbers& v) const {
    const auto quotient = [&](double h) {
      return (loss_at(weight, h, v) - loss_at(weight, -h, v)) / (2 * h);
    };
    const double q1 = quotient(0x1p-9), q2 = quotient(0x1p-10), q3 = quotient(0x1p-11);
    const double first = (4 * q2 - q1) / 3, second = (4 * q3 - q2) / 3;
    return (16 * second - first) / 15;
  }

  const OpTable& ops() const { return ops_; }
  const Stage& stage() const { return stage_; }
  const Case& c() const { return case_; }

 private:
  OpTable ops_;
  StageTable stages_;
  const Stage& stage_;
  Case case_;
  Program program_;
  std::map<TensorId, Tensor> inputs_;
  std::map<TensorId, Value> carried_, before_;
  ProgramEvaluation evaluation_;
};

/// AdamW's at the step-th step, counted from zero.
inline double correction(double beta, Index step) {
  return 1 - std::pow(beta, static_cast<double>(step + 1));
}

inline double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace parity::training_test
