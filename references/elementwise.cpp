// Elementwise ops: cast, axpby, mul, scale_by, softcap and the gradients of softcap and of activations.
// Shapes of rank 1 to 3; all ports of an op have the same one.
#include <fmt/format.h>

#include <cmath>

#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/port_shapes.hpp"

namespace parity {
namespace {

using Shapes = Result<std::vector<Shape>>;
using Values = Result<std::vector<Value>>;

/// The shape of port 0, which ports 1 .. `same` - 1 must have too.
Shapes same_shape(std::span<const Port> names, PortShapes ports, std::size_t same) {
  const Shape& shape = *ports[0];
  if (shape.empty() || shape.size() > 3)
    return bad_input(
        fmt::format("{} has shape {}; give a tensor of rank 1 to 3", names[0].name, to_string(shape)));
  for (std::size_t i = 1; i < same; ++i)
    if (auto ok = expect_shape(names[i].name, *ports[i], shape); !ok) return tl::unexpected(ok.error());
  return std::vector<Shape>{shape};
}

/// Rows and columns of all ports alike; a port of one element goes along whole.
std::optional<std::vector<Tensor>> restrict_all(const PortTensors& ports, std::span<const std::int64_t> rows,
                                                std::span<const std::int64_t> cols) {
  std::vector<Tensor> part;
  for (const Tensor* port : ports) {
    const std::size_t rank = port->shape().size();
    if (port->shape() == Shape{1}) {
      part.push_back(*port);
      continue;
    }
    Tensor taken = take(*port, rank - 1, cols);
    part.push_back(rank > 1 ? take(taken, rank - 2, rows) : std::move(taken));
  }
  return part;
}

/// What the ops of this file have in common: the first `same` inputs have the output's shape.
OpDefinition elementwise(std::string_view name, std::string_view summary, std::vector<Port> inputs,
                         std::string_view output, std::size_t same, double flops) {
  OpDefinition op;
  op.name = name;
  op.summary = summary;
  op.inputs = inputs;
  op.outputs = {{output}};
  op.infer = [inputs, same](const Attributes&, PortShapes ports) { return same_shape(inputs, ports, same); };
  op.flops_per_element = [flops](const OpCall&, const Program&) { return flops; };
  op.restrict_to = [](const Attributes&, const PortTensors& ports, std::span<const std::int64_t> rows,
                      std::span<const std::int64_t> cols) { return restrict_all(ports, rows, cols); };
  op.symmetries = [same](const Attributes&, PortShapes ports) -> std::vector<Symmetry> {
    if (ports[0]->size() < 2) return {};
    Symmetry rows{Symmetry::Kind::batch, "rows", {}, {{0, 1}}};
    for (std::size_t port = 0; port < same; ++port) rows.inputs.push_back({port, 1});
    return {rows};
  };
  return op;
}

OpDefinition cast_op() {
  OpDefinition op = elementwise("cast", "Y = X in Y's dtype", {{"X"}}, "Y", 1, 0);
  op.evaluate = [](Arithmetic& arithmetic, const Attributes&, const PortTensors& in) -> Values {
    return std::vector{arithmetic.load(*in[0])};  // the store rounds
  };
  op.gradient = [](const OpCall&, GradientBuilder& builder) -> Result<void> {
    pass_scaled(builder, 0, 1, builder.output_gradient(0));
    return {};
  };
  return op;
}

OpDefinition axpby_op() {
  OpDefinition op = elementwise("axpby", "Z = alpha X + beta Y", {{"X"}, {"Y"}}, "Z", 2, 3);
  op.attributes = {{"alpha", 1.0}, {"beta", 1.0}};
  op.evaluate = [](Arithmetic& arithmetic, const Attributes& attributes, const PortTensors& in) -> Values {
    const Value y = arithmetic.load(*in[1]);
    return std::vector{arithmetic.scale_add(fp32_number(attributes.real("alpha")), arithmetic.load(*in[0]),
                                            fp32_number(attributes.real("beta")), &y)};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    pass_scaled(builder, 0, call.attributes.real("alpha"), builder.output_gradient(0));
    pass_scaled(builder, 1, call.attributes.real("beta"), builder.output_gradient(0));
    return {};
  };
  return op;
}

OpDefinition mul_op() {
  OpDefinition op = elementwise("mul", "Z = X * Y", {{"X"}, {"Y"}}, "Z", 2, 1);
  op.evaluate = [](Arithmetic& arithmetic, const Attributes&, const PortTensors& in) -> Values {
    return std::vector{arithmetic.mul(arithmetic.load(*in[0]), arithmetic.load(*in[1]))};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    const TensorId g = builder.output_gradient(0);
    for (const std::size_t port : {0u, 1u})
      if (builder.wants(port))
        builder.emit({"mul", {}, {g, call.inputs[1 - port]}, {builder.input_gradient(port)}});
    return {};
  };
  return op;
}

OpDefinition scale_by_op() {
  OpDefinition op = elementwise("scale_by", "Y = X * s[0]", {{"X"}, {"s"}}, "Y", 1, 1);
  op.infer = [](const Attributes&, PortShapes ports) -> Shapes {
    static constexpr Port x{"X"};
    if (auto ok = expect_shape("s", *ports[1], {1}); !ok) return tl::unexpected(ok.error());
    return same_shape({&x, 1}, ports, 1);
  };
  op.evaluate = [](Arithmetic& arithmetic, const Attributes&, const PortTensors& in) -> Values {
    return std::vector{arithmetic.mul(arithmetic.load(*in[0]), arithmetic.load(*in[1]))};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    const TensorId g = builder.output_gradient(0);
    if (builder.wants(1)) {
      // ds = sum dY * X: the gain of a single head.
      if (builder.program().spec(call.inputs[0]).shape.size() != 2)
        return fail(ErrorKind::unsupported, "scale_by: the gradient of s needs an X of rank 2");
      builder.emit({"head_scale_gain_gradient",
                    {{"heads", std::int64_t{1}}},
                    {call.inputs[0], g},
                    {builder.input_gradient(1)}});
    }
    if (builder.wants(0)) builder.emit({"scale_by", {}, {g, call.inputs[1]}, {builder.input_gradient(0)}});
    return {};
  };
  return op;
}

AttributeRule cap_rule() {
  return {"cap", 1.0, true, 0x1p-126, largest_fp32};
}

OpDefinition softcap_op() {
  OpDefinition op = elementwise("softcap", "Y = cap tanh(X / cap)", {{"X"}}, "Y", 1, 3);
  op.attributes = {cap_rule()};
  op.evaluate = [](Arithmetic& arithmetic, const Attributes& attributes, const PortTensors& in) -> Values {
    const double cap = fp32_number(attributes.real("cap"));
    const Value t = arithmetic.apply(Function::tanh, arithmetic.div(arithmetic.load(*in[0]), constant(cap)));
    return std::vector{arithmetic.scale_add(cap, t, 0, nullptr)};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    if (builder.wants(0))
      builder.emit({"softcap_backward",
                    call.attributes,
                    {call.outputs[0], builder.output_gradient(0)},
                    {builder.input_gradient(0)}});
    return {};
  };
  return op;
}

OpDefinition softcap_backward_op() {
  OpDefinition op = elementwise("softcap_backward", "dX = dY (1 - (Y / cap)^2)", {{"Y"}, {"dY"}}, "dX", 2, 4);
  op.attributes = {cap_rule()};
  op.evaluate = [](Arithmetic& arithmetic, const Attributes& attributes, const PortTensors& in) -> Values {
    const Value t = arithmetic.div(arithmetic.load(*in[0]), constant(fp32_number(attributes.real("cap"))));
    return std::vector{arithmetic.mul(arithmetic.load(*in[1]), one_minus(arithmetic, arithmetic.mul(t, t)))};
  };
  return op;
}

/// Where Y's own error reaches across relu's kink, dX may be dY or nothing.
void doubt_kinks(const Value& y, const Value& dy, Value& dx) {
  if (y.hard.empty()) return;
  for (auto* array : {&dx.hard, &dx.systematic, &dx.mean, &dx.variance}) array->resize(dx.v.size());
  for (std::size_t i = 0; i < dx.v.size(); ++i) {
    if (!(std::fabs(y.v[i]) <= y.hard[i]) || y.hard[i] == 0) continue;
    dx.hard[i] = dx.systematic[i] = std::fabs(dy.v[i]) + (dy.hard.empty() ? 0 : dy.hard[i]);
    dx.mean[i] = dx.variance[i] = 0;
  }
}

OpDefinition activation_backward_op() {
  OpDefinition op =
      elementwise("activation_backward", "dX = dY f'(X), from Y = f(X)", {{"Y"}, {"dY"}}, "dX", 2, 3);
  op.attributes = {{"activation", std::string(), true, 0, 0, {"sigmoid", "tanh", "relu"}}};
  op.evaluate = [](Arithmetic& arithmetic, const Attributes& attributes, const PortTensors& in) -> Values {
    const std::string activation = attributes.text("activation");
    const Value y = arithmetic.load(*in[0]), dy = arithmetic.load(*in[1]);
    if (activation == "sigmoid")
      return std::vector{arithmetic.mul(dy, arithmetic.mul(y, one_minus(arithmetic, y)))};
    if (activation == "tanh")
      return std::vector{arithmetic.mul(dy, one_minus(arithmetic, arithmetic.mul(y, y)))};
    std::vector<bool> passes(y.v.size());
    for (std::size_t i = 0; i < passes.size(); ++i) passes[i] = y.v[i] > 0;
    Value dx = select(passes, dy, filled(dy.batch, dy.rows, dy.cols, 0));
    doubt_kinks(y, dy, dx);
    return std::vector{std::move(dx)};
  };
  return op;
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_elementwise_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  for (auto* define :
       {cast_op, axpby_op, mul_op, scale_by_op, softcap_op, softcap_backward_op, activation_backward_op})
    ops.push_back(make_op(define()));
  return ops;
}

}  // namespace parity
