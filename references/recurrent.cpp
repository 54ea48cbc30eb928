// The gates of a GRU, both variants: gru_gates is linear before reset (n = tanh(a_n + r u_n), as
// torch.nn.GRUCell has it); gru_gate and gru_blend are the pieces of reset before (n = tanh(a_n + W (r h))).
// Columns of A and U: r | z | n. The matrix products are calls of linear before these.
#include <fmt/format.h>

#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/port_shapes.hpp"

namespace parity {
namespace {

using Shapes = Result<std::vector<Shape>>;
using Values = Result<std::vector<Value>>;

/// Every port must have the shape of port `first`, a matrix.
Result<MatrixSize> equal_matrices(std::span<const Port> names, PortShapes ports, std::size_t first) {
  auto size = matrix_size(names[first].name, *ports[first]);
  if (!size) return size;
  for (std::size_t i = first + 1; i < ports.size(); ++i)
    if (auto ok = expect_shape(names[i].name, *ports[i], *ports[first]); !ok)
      return tl::unexpected(ok.error());
  return size;
}

/// Rows of every port; columns only where a port's columns are the output's.
std::optional<std::vector<Tensor>> restrict_rows(const PortTensors& ports, bool takes_cols,
                                                 std::span<const std::int64_t> rows,
                                                 std::span<const std::int64_t> cols) {
  if (!takes_cols && !cols.empty()) return std::nullopt;
  std::vector<Tensor> part;
  for (const Tensor* port : ports) part.push_back(take(take(*port, 0, rows), 1, cols));
  return part;
}

OpDefinition with_ports(std::string_view name, std::string_view summary, std::vector<Port> inputs,
                        std::vector<Port> outputs, double flops) {
  OpDefinition op;
  op.name = name;
  op.summary = summary;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.flops_per_element = [flops](const OpCall&, const Program&) { return flops; };
  return op;
}

/// All ports [B, H]; `outputs` of the same shape.
OpDefinition alike(std::string_view name, std::string_view summary, std::vector<Port> inputs,
                   std::vector<Port> outputs, double flops) {
  const std::size_t results = outputs.size();
  OpDefinition op = with_ports(name, summary, inputs, std::move(outputs), flops);
  op.infer = [inputs, results](const Attributes&, PortShapes ports) -> Shapes {
    if (auto ok = equal_matrices(inputs, ports, 0); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>(results, *ports[0]);
  };
  if (results == 1)
    op.restrict_to = [](const Attributes&, const PortTensors& ports, std::span<const std::int64_t> rows,
                        std::span<const std::int64_t> cols) {
      return restrict_rows(ports, true, rows, cols);
    };
  op.symmetries = [ports = inputs.size(), results](const Attributes&, PortShapes) -> std::vector<Symmetry> {
    Symmetry rows{Symmetry::Kind::batch, "rows", {}, {}};
    for (std::size_t port = 0; port < ports; ++port) rows.inputs.push_back({port, 1});
    for (std::size_t port = 0; port < results; ++port) rows.outputs.push_back({port, 1});
    return {rows};
  };
  return op;
}

/// (1 - z) * n + z * h
Value blend(Arithmetic& arithmetic, const Value& z, const Value& n, const Value& h) {
  return arithmetic.add(arithmetic.mul(one_minus(arithmetic, z), n), arithmetic.mul(z, h));
}

OpDefinition gru_gate_op() {
  OpDefinition op = alike("gru_gate", "Y = f(A + U), f sigmoid or tanh", {{"A"}, {"U"}}, {{"Y"}}, 2);
  op.attributes = {{"activation", std::string(), true, 0, 0, {"sigmoid", "tanh"}}};
  op.evaluate = [](Arithmetic& arithmetic, const Attributes& attributes, const PortTensors& in) -> Values {
    const Function f = attributes.text("activation") == "tanh" ? Function::tanh : Function::sigmoid;
    return std::vector{arithmetic.apply(f, arithmetic.add(arithmetic.load(*in[0]), arithmetic.load(*in[1])))};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    if (!builder.wants(0) && !builder.wants(1)) return {};
    // A and U receive the same gradient.
    const std::size_t first = builder.wants(0) ? 0 : 1;
    const TensorId gradient = builder.input_gradient(first);
    builder.emit(
        {"activation_backward", call.attributes, {call.outputs[0], builder.output_gradient(0)}, {gradient}});
    if (first == 0 && builder.wants(1)) builder.pass_gradient(1, gradient);
    return {};
  };
  return op;
}

OpDefinition gru_gates_op() {
  OpDefinition op =
      with_ports("gru_gates", "H' = (1 - z) n + z h, n = tanh(a_n + r u_n): linear before reset",
                 {{"A"}, {"U"}, {"H"}}, {{"H_next"}, {"R"}, {"Z"}, {"N"}}, 12);
  op.infer = [](const Attributes&, PortShapes ports) -> Shapes {
    const auto h = matrix_size("H", *ports[2]);
    if (!h) return tl::unexpected(h.error());
    const Shape three{h->rows, 3 * h->cols};
    if (auto ok = expect_shape("A", *ports[0], three); !ok) return tl::unexpected(ok.error());
    if (auto ok = expect_shape("U", *ports[1], three); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>(4, *ports[2]);
  };
  op.evaluate = [](Arithmetic& arithmetic, const Attributes&, const PortTensors& in) -> Values {
    const Value a = arithmetic.load(*in[0]), u = arithmetic.load(*in[1]), h = arithmetic.load(*in[2]);
    const auto part = [&](const Value& x, std::int64_t gate) { return take_cols(x, gate * h.cols, h.cols); };
    const Value r = arithmetic.apply(Function::sigmoid, arithmetic.add(part(a, 0), part(u, 0)));
    const Value z = arithmetic.apply(Function::sigmoid, arithmetic.add(part(a, 1), part(u, 1)));
    const Value n =
        arithmetic.apply(Function::tanh, arithmetic.add(part(a, 2), arithmetic.mul(r, part(u, 2))));
    return std::vector{blend(arithmetic, z, n, h), r, z, n};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    for (const std::size_t port : {1u, 2u, 3u})
      if (auto ok = expect_no_gradient(call, builder, port, port == 1 ? "R" : port == 2 ? "Z" : "N"); !ok)
        return ok;
    const auto& out = call.outputs;
    builder.emit({"gru_gates_backward",
                  {},
                  {call.inputs[1], call.inputs[2], out[1], out[2], out[3], builder.output_gradient(0)},
                  {builder.input_gradient(0), builder.input_gradient(1), builder.input_gradient(2)}});
    return {};
  };
  return op;
}

OpDefinition gru_gates_backward_op() {
  OpDefinition op = with_ports("gru_gates_backward", "gradients of gru_gates from H_next's",
                               {{"U"}, {"H"}, {"R"}, {"Z"}, {"N"}, {"dH_next"}}, {{"dA"}, {"dU"}, {"dH"}}, 6);
  op.infer = [names = op.inputs](const Attributes&, PortShapes ports) -> Shapes {
    const auto h = equal_matrices(names, ports, 1);
    if (!h) return tl::unexpected(h.error());
    const Shape three{h->rows, 3 * h->cols};
    if (auto ok = expect_shape("U", *ports[0], three); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>{three, three, *ports[1]};
  };
  op.evaluate = [](Arithmetic& m, const Attributes&, const PortTensors& in) -> Values {
    const Value u = m.load(*in[0]), h = m.load(*in[1]), r = m.load(*in[2]), z = m.load(*in[3]);
    const Value n = m.load(*in[4]), g = m.load(*in[5]);
    const Value dn = m.mul(g, one_minus(m, z));
    const Value da_n = m.mul(dn, one_minus(m, m.mul(n, n)));
    const Value du_n = m.mul(da_n, r);
    const Value u_n = take_cols(u, 2 * h.cols, h.cols);
    const Value da_r = m.mul(m.mul(da_n, u_n), m.mul(r, one_minus(m, r)));
    const Value da_z = m.mul(m.mul(g, difference(m, h, n)), m.mul(z, one_minus(m, z)));
    return std::vector{concat_cols({da_r, da_z, da_n}), concat_cols({da_r, da_z, du_n}), m.mul(g, z)};
  };
  return op;
}

OpDefinition gru_blend_op() {
  OpDefinition op = alike("gru_blend", "H' = (1 - Z) N + Z H", {{"Z"}, {"N"}, {"H"}}, {{"H_next"}}, 4);
  op.evaluate = [](Arithmetic& arithmetic, const Attributes&, const PortTensors& in) -> Values {
    return std::vector{
        blend(arithmetic, arithmetic.load(*in[0]), arithmetic.load(*in[1]), arithmetic.load(*in[2]))};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    const auto& in = call.inputs;
    builder.emit({"gru_blend_backward",
                  {},
                  {in[0], in[1], in[2], builder.output_gradient(0)},
                  {builder.input_gradient(0), builder.input_gradient(1), builder.input_gradient(2)}});
    return {};
  };
  return op;
}

OpDefinition gru_blend_backward_op() {
  OpDefinition op = alike("gru_blend_backward", "gradients of gru_blend", {{"Z"}, {"N"}, {"H"}, {"dH_next"}},
                          {{"dZ"}, {"dN"}, {"dH"}}, 5);
  op.evaluate = [](Arithmetic& m, const Attributes&, const PortTensors& in) -> Values {
    const Value z = m.load(*in[0]), n = m.load(*in[1]), h = m.load(*in[2]), g = m.load(*in[3]);
    return std::vector{m.mul(g, difference(m, h, n)), m.mul(g, one_minus(m, z)), m.mul(g, z)};
  };
  return op;
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_recurrent_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  for (auto* define : {gru_gate_op, gru_gates_op, gru_gates_backward_op, gru_blend_op, gru_blend_backward_op})
    ops.push_back(make_op(define()));
  return ops;
}

}  // namespace parity
