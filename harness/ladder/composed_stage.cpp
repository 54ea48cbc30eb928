#include "harness/ladder/composed_stage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/nearest.hpp"
#include "harness/ladder/gradient_builder.hpp"
#include "harness/ladder/input_content.hpp"

namespace parity {

namespace {

constexpr double most_size = 1 << 24;

DType real_of(const Case& c) {
  return c.accumulate == DType::f64 ? DType::f64 : DType::f32;
}

bool holds_values(const TensorSpec& spec) {
  return is_float(spec.dtype) && !spec.is_view() && spec.content.kind == Content::Kind::values;
}

/// Gives the gradient of `tensor` the name "d_<tensor>" where it is a sum and a part of it has that name.
void name_gradient(Program& program, TensorId tensor, TensorId gradient) {
  const std::string name = "d_" + program.spec(tensor).name;
  if (const auto part = program.find(name); part && *part != gradient) {
    std::string free = name + "_part";
    while (program.find(free)) free += "_";
    program.tensors[static_cast<std::size_t>(*part)].name = free;
  }
  program.tensors[static_cast<std::size_t>(gradient)].name = name;
}

class ComposedStage final : public Stage {
 public:
  ComposedStage(const OpTable& ops, StageDefinition definition) : ops_(ops), d_(std::move(definition)) {
    if (d_.differentiable) d_.parameters.push_back(gradient_parameter());
  }

  std::string_view name() const override { return d_.name; }
  std::string_view summary() const override { return d_.summary; }
  int rung() const override { return d_.rung; }
  std::span<const Parameter> parameters() const override { return d_.parameters; }

  Result<Program> build(const Case& c) const override {
    Composer composer(ops_, real_of(c));
    d_.compose(composer, c);
    auto program = composer.finish(c.accumulate);
    if (!program || !asks_gradient(c)) return program;
    return with_gradients(ops_, *std::move(program));
  }

  Result<Tensor> fill(const Case& c, const Program& program, TensorId input) const override {
    std::vector<TensorId> candidates;  // for the NaN
    for (std::size_t i = 0; i < program.tensors.size(); ++i)
      if (program.tensors[i].role == TensorSpec::Role::input && holds_values(program.tensors[i]))
        candidates.push_back(static_cast<TensorId>(i));
    const bool holds_nan = !candidates.empty() && candidates[c.seed % candidates.size()] == input;
    return make_content(c, program.spec(input), static_cast<std::uint32_t>(input), holds_nan);
  }

  Result<Case> bind(const Case& c, const std::map<std::string, Tensor>& inputs) const override {
    Case bound = c;
    for (const auto& [name, tensor] : inputs) {
      const auto found = d_.bound.find(name);
      if (found == d_.bound.end()) return bad_input(unknown_input(name));
      if (tensor.shape().size() != found->second.size())
        return bad_input(fmt::format("input '{}' has shape {}; {} dimensions are wanted", name,
                                     to_string(tensor.shape()), found->second.size()));
      for (std::size_t axis = 0; axis < found->second.size(); ++axis)
        if (!found->second[axis].empty()) bound.parameters.set(found->second[axis], tensor.shape()[axis]);
    }
    return bound;
  }

  bool exact(const Case& c) const override {
    return d_.exact_with_integers && (c.fill == Fill::integer || c.fill == Fill::selector) &&
           (!d_.exact_settings || d_.exact_settings(c)) && !asks_gradient(c);
  }

  Case calibration(const Case& c, DType) const override {
    // Composed programs store their real dtype, whatever else a path could.
    Case small{std::string(d_.name), {}, c.input, c.accumulate, real_of(c), Fill::normal, 20200};
    for (const Parameter& p : d_.parameters) small.parameters.set(std::string(p.name), p.fallback);
    for (const auto& [name, value] : d_.calibration) small.parameters.set(name, value);
    if (d_.differentiable) small.parameters.set("gradient", std::string("y"));
    return small;
  }

  std::int64_t steps(const Case& c) const override { return d_.steps ? d_.steps(c) : 1; }
  Result<std::map<TensorId, Tensor>> step_inputs(const Case& c, const Program& program,
                                                 std::int64_t step) const override {
    if (!d_.step_inputs) return std::map<TensorId, Tensor>{};
    return d_.step_inputs(c, program, step);
  }

 private:
  std::string unknown_input(const std::string& name) const {
    std::vector<std::string_view> known;
    for (const auto& [port, axes] : d_.bound) known.push_back(port);
    if (known.empty()) return fmt::format("{} takes no inputs of your own", d_.name);
    return fmt::format("no input is called '{}'; there is {}{}", name, fmt::join(known, ", "),
                       suggestion(name, known));
  }

  OpTable ops_;
  StageDefinition d_;
};

}  // namespace

Parameter gradient_parameter() {
  return choice_parameter("gradient", {"n", "y"}, "y: the backward pass too");
}

bool asks_gradient(const Case& c) {
  return c.parameters.text("gradient") == "y";
}

Result<Program> with_gradients(const OpTable& ops, Program program) {
  std::map<TensorId, TensorId> seeds;
  std::vector<TensorId> wanted;
  const auto forward = static_cast<TensorId>(program.tensors.size());
  for (TensorId id = 0; id < forward; ++id) {
    const TensorSpec spec = program.spec(id);
    if (spec.role == TensorSpec::Role::output && is_float(spec.dtype) && !spec.is_view()) {
      const DType dtype = spec.dtype == DType::f64 ? DType::f64 : DType::f32;
      program.tensors.push_back(
          // Laid out like the result, so that views of one fit the other.
          {"d_" + spec.name, dtype, spec.shape, spec.strides, TensorSpec::Role::input});
      seeds.emplace(id, static_cast<TensorId>(program.tensors.size() - 1));
    }
    if (spec.role == TensorSpec::Role::input && holds_values(spec)) wanted.push_back(id);
  }
  const auto gradients = add_backward(ops, program, seeds, wanted);
  if (!gradients) return tl::unexpected(gradients.error());
  for (const auto& [tensor, gradient] : *gradients) {
    TensorSpec& spec = program.tensors[static_cast<std::size_t>(gradient)];
    // A gradient may be the seed itself, passed on, or that of another tensor too.
    if (spec.role != TensorSpec::Role::intermediate) continue;
    spec.role = TensorSpec::Role::output;
    name_gradient(program, tensor, gradient);
  }
  // A view has its root's role.
  for (TensorSpec& spec : program.tensors)
    if (spec.is_view()) spec.role = program.spec(spec.view_of).role;
  if (auto ok = check_program(ops, program); !ok) return tl::unexpected(ok.error());
  return program;
}

std::unique_ptr<const Stage> make_stage(const OpTable& ops, StageDefinition definition) {
  return std::make_unique<ComposedStage>(ops, std::move(definition));
}

Parameter size_parameter(std::string_view name, std::string_view help, std::int64_t least) {
  return {name, std::int64_t{0}, true, static_cast<double>(least), most_size, {}, help};
}

Parameter optional_size(std::string_view name, std::int64_t fallback, std::string_view help,
                        std::int64_t least) {
  return {name, fallback, false, static_cast<double>(least), most_size, {}, help};
}

Parameter real_parameter(std::string_view name, double fallback, std::string_view help) {
  return {name, fallback, false, -1e9, 1e9, {}, help};
}

Parameter choice_parameter(std::string_view name, std::vector<std::string_view> choices,
                           std::string_view help) {
  return {name, std::string(choices.front()), false, 0, 0, std::move(choices), help};
}

}  // namespace parity
