#include "references/defined_op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace parity {
namespace {

double element_work(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

Result<void> check_value(const AttributeRule& rule, const AttributeValue& value) {
  if (value.index() != rule.fallback.index())
    return bad_input(fmt::format("attribute {} has the wrong type", rule.name));
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (rule.choices.empty() || std::ranges::find(rule.choices, *text) != rule.choices.end()) return {};
    return bad_input(fmt::format("attribute {} is '{}'; it must be one of {}", rule.name, *text,
                                 fmt::join(rule.choices, ", ")));
  }
  const auto* integer = std::get_if<std::int64_t>(&value);
  const double number = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
  if (number >= rule.least && number <= rule.most) return {};
  return bad_input(
      fmt::format("attribute {} is {}; it must lie in [{}, {}]", rule.name, number, rule.least, rule.most));
}

class DefinedOp final : public Op {
 public:
  explicit DefinedOp(OpDefinition definition) : d_(std::move(definition)) {}
  std::string_view name() const override { return d_.name; }
  std::string_view summary() const override { return d_.summary; }
  std::span<const Port> inputs() const override { return d_.inputs; }
  std::span<const Port> outputs() const override { return d_.outputs; }

  Result<std::vector<Shape>> infer(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> inputs) const override {
    auto shapes = checked_shapes(attributes, inputs);
    if (!shapes) return fail(shapes.error().kind, fmt::format("{}: {}", d_.name, shapes.error().message));
    return shapes;
  }

  Result<std::vector<Value>> evaluate(Arithmetic& arithmetic, const Attributes& attributes,
                                      const PortTensors& inputs) const override {
    PortTensors ports = inputs;
    ports.resize(d_.inputs.size(), nullptr);
    auto values = d_.evaluate(arithmetic, with_fallbacks(attributes, d_.attributes), ports);
    if (!values) return fail(values.error().kind, fmt::format("{}: {}", d_.name, values.error().message));
    return values;
  }

  Result<void> gradient(const OpCall& call, GradientBuilder& builder) const override {
    if (!d_.gradient) return Op::gradient(call, builder);
    return d_.gradient(completed(call), builder);
  }

  Work work(const OpCall& call, const Program& program) const override {
    Work work;
    work.flops = element_work(program.spec(call.outputs.front()).shape) *
                 d_.flops_per_element(completed(call), program);
    const auto add_bytes = [&](TensorId id) {
      if (id == no_tensor) return;
      const TensorSpec& spec = program.spec(id);
      work.bytes += element_work(spec.shape) * static_cast<double>(size_of(spec.dtype));
    };
    for (const TensorId id : call.inputs) add_bytes(id);
    for (const TensorId id : call.outputs) add_bytes(id);
    return work;
  }

  std::int64_t reduction_length(const OpCall& call, const Program& program) const override {
    if (!d_.reduction_length) return 1;
    return d_.reduction_length(completed(call), program);
  }

  std::vector<Symmetry> symmetries(const Attributes& attributes, PortShapes inputs) const override {
    if (!d_.symmetries) return {};
    std::vector<std::optional<Shape>> ports(inputs.begin(), inputs.end());
    ports.resize(d_.inputs.size());
    return d_.symmetries(with_fallbacks(attributes, d_.attributes), ports);
  }

  std::optional<std::vector<Tensor>> restrict_to(const Attributes& attributes, const PortTensors& inputs,
                                                 std::span<const std::int64_t> rows,
                                                 std::span<const std::int64_t> cols) const override {
    if (!d_.restrict_to) return std::nullopt;
    PortTensors ports = inputs;
    ports.resize(d_.inputs.size(), nullptr);
    return d_.restrict_to(with_fallbacks(attributes, d_.attributes), ports, rows, cols);
  }

 private:
  /// The call with every attribute and every input port, absent ones as no_tensor.
  OpCall completed(OpCall call) const {
    call.attributes = with_fallbacks(call.attributes, d_.attributes);
    call.inputs.resize(d_.inputs.size(), no_tensor);
    return call;
  }

  Result<std::vector<Shape>> checked_shapes(const Attributes& attributes, PortShapes inputs) const {
    for (const auto& [name, value] : attributes.all()) {
      const auto rule = std::ranges::find(d_.attributes, std::string_view(name), &AttributeRule::name);
      if (rule == d_.attributes.end()) return bad_input(fmt::format("there is no attribute {}", name));
      if (auto ok = check_value(*rule, value); !ok) return tl::unexpected(ok.error());
    }
    for (const AttributeRule& rule : d_.attributes)
      if (rule.required && !attributes.all().contains(rule.name))
        return bad_input(fmt::format("attribute {} must be given", rule.name));
    std::vector<std::optional<Shape>> ports(inputs.begin(), inputs.end());
    ports.resize(d_.inputs.size());
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (!ports[i] && !d_.inputs[i].optional)
        return bad_input(fmt::format("input {} must be given", d_.inputs[i].name));
    return d_.infer(with_fallbacks(attributes, d_.attributes), ports);
  }

  OpDefinition d_;
};

}  // namespace

std::unique_ptr<const Op> make_op(OpDefinition definition) {
  return std::make_unique<DefinedOp>(std::move(definition));
}

Result<MatrixSize> matrix_size(std::string_view port, const Shape& shape) {
  if (shape.size() == 2) return MatrixSize{shape[0], shape[1]};
  return bad_input(fmt::format("{} has shape {}; give a matrix [rows, columns]", port, to_string(shape)));
}

Result<void> expect_shape(std::string_view port, const Shape& shape, const Shape& wanted) {
  if (shape == wanted) return {};
  return bad_input(fmt::format("{} has shape {}; it must be {}", port, to_string(shape), to_string(wanted)));
}

Attributes with_fallbacks(const Attributes& attributes, std::span<const AttributeRule> rules) {
  Attributes complete = attributes;
  for (const AttributeRule& rule : rules)
    if (!attributes.all().contains(rule.name)) complete.set(std::string(rule.name), rule.fallback);
  return complete;
}

Result<std::vector<std::int64_t>> indices_of(std::string_view port, const Tensor& tensor,
                                             std::int64_t limit) {
  if (tensor.dtype() != DType::i32)
    return bad_input(fmt::format("{} has dtype {}; indices are i32", port, name_of(tensor.dtype())));
  std::vector<std::int64_t> indices(static_cast<std::size_t>(tensor.elements()));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto index = static_cast<std::int64_t>(tensor.value(i));
    if (index < 0 || index >= limit)
      return bad_input(fmt::format("{}[{}] is {}; it must lie in [0, {})", port, i, index, limit));
    indices[static_cast<std::size_t>(i)] = index;
  }
  return indices;
}

}  // namespace parity
