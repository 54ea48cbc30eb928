#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/composer.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

/// A rung as data. Inputs get their contents from Content; with `gradient=y` the backward pass is added, from
/// inputs "d_<result>" to the gradient of every input that holds values.
struct StageDefinition {
  std::string_view name, summary;
  int rung = 0;
  std::vector<Parameter> parameters;
  /// Writes the forward program and makes its results outputs.
  std::function<void(Composer&, const Case&)> compose;
  bool differentiable = true;
  /// The result's bits are the contract with a fill of integers (or a selector), whatever the order of
  /// summation.
  bool exact_with_integers = false;
  /// Whether it is so with these settings too; empty: with all of them.
  std::function<bool(const Case&)> exact_settings;
  /// Parameters of a small case that shows a path's arithmetic.
  std::map<std::string, AttributeValue> calibration;
  /// Which parameters an input of the user's own sets, axis by axis ("": none); inputs not named here cannot
  /// be brought.
  std::map<std::string, std::vector<std::string>> bound;
  /// Inputs that change from step to step, and how many steps a case runs; empty: one step.
  std::function<std::int64_t(const Case&)> steps;
  std::function<Result<std::map<TensorId, Tensor>>(const Case&, const Program&, std::int64_t step)>
      step_inputs;
};

std::unique_ptr<const Stage> make_stage(const OpTable& ops, StageDefinition definition);

/// `gradient=y`, for a stage that can be differentiated.
Parameter gradient_parameter();
bool asks_gradient(const Case& c);
/// The program and its backward pass: from an input "d_<result>" for each floating-point result to the
/// gradient of each input that holds values, which becomes an output.
Result<Program> with_gradients(const OpTable& ops, Program program);

// Short forms of parameters.
Parameter size_parameter(std::string_view name, std::string_view help, std::int64_t least = 0);
Parameter optional_size(std::string_view name, std::int64_t fallback, std::string_view help,
                        std::int64_t least = 1);
Parameter real_parameter(std::string_view name, double fallback, std::string_view help);
Parameter choice_parameter(std::string_view name, std::vector<std::string_view> choices,
                           std::string_view help);

}  // namespace parity
