// Reductions of gradients: over rows, the sum of squares, and the factor that limits their norm.
#include <fmt/format.h>

#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/port_shapes.hpp"

namespace parity {
namespace {

using Shapes = Result<std::vector<Shape>>;
using Values = Result<std::vector<Value>>;

std::int64_t elements_of(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

OpDefinition gradient_reduction_op() {
  OpDefinition op;
  op.name = "gradient_reduction";
  op.summary = "Y = sum over the rows of X";
  op.inputs = {{"X"}};
  op.outputs = {{"Y"}};
  op.infer = [](const Attributes&, PortShapes ports) -> Shapes {
    const auto x = matrix_size("X", *ports[0]);
    if (!x) return tl::unexpected(x.error());
    return std::vector<Shape>{{x->cols}};
  };
  op.evaluate = [](Arithmetic& m, const Attributes&, const PortTensors& in) -> Values {
    return std::vector{transpose(m.row_dot(transpose(m.load(*in[0])), nullptr))};
  };
  const auto rows = [](const OpCall& call, const Program& program) {
    return program.spec(call.inputs[0]).shape.front();
  };
  op.flops_per_element = [rows](const OpCall& call, const Program& program) {
    return static_cast<double>(rows(call, program));
  };
  op.reduction_length = rows;
  op.restrict_to = [](const Attributes&, const PortTensors& in, std::span<const std::int64_t>,
                      std::span<const std::int64_t> cols) -> std::optional<std::vector<Tensor>> {
    return std::vector{take(*in[0], 1, cols)};
  };
  op.symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
    return {{Symmetry::Kind::reduction, "rows", {{0, 1}}, {}, true, 0},
            {Symmetry::Kind::batch, "columns", {{0, 0}}, {{0, 0}}}};
  };
  return op;
}

OpDefinition square_sum_op() {
  OpDefinition op;
  op.name = "square_sum";
  op.summary = "S = sum of X^2 over all elements";
  op.inputs = {{"X"}};
  op.outputs = {{"S"}};
  op.infer = [](const Attributes&, PortShapes ports) -> Shapes {
    if (ports[0]->empty() || ports[0]->size() > 3)
      return bad_input(fmt::format("X has shape {}; give a tensor of rank 1 to 3", to_string(*ports[0])));
    return std::vector<Shape>{{1}};
  };
  op.evaluate = [](Arithmetic& m, const Attributes&, const PortTensors& in) -> Values {
    Value x = m.load(*in[0]);
    const std::int64_t elements = x.size();
    x = reshape(std::move(x), 1, 1, elements);
    return std::vector{m.row_dot(x, &x)};
  };
  const auto length = [](const OpCall& call, const Program& program) {
    return elements_of(program.spec(call.inputs[0]).shape);
  };
  op.flops_per_element = [length](const OpCall& call, const Program& program) {
    return 2 * static_cast<double>(length(call, program));
  };
  op.reduction_length = length;
  op.symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
    return {{Symmetry::Kind::reduction, "columns", {{0, 0}}, {}, true, 0},
            {Symmetry::Kind::reduction, "rows", {{0, 1}}, {}, true, 0}};
  };
  return op;
}

OpDefinition clip_factor_op() {
  OpDefinition op;
  op.name = "clip_factor";
  op.summary = "factor = min(max_norm / (norm + 1e-6), 1), norm = sqrt(sum S)";
  op.inputs = {{"S"}};
  op.outputs = {{"factor"}, {"norm"}};
  op.attributes = {{"max_norm", 0.0, true, 0}};
  op.infer = [](const Attributes&, PortShapes ports) -> Shapes {
    if (ports[0]->size() != 1)
      return bad_input(
          fmt::format("S has shape {}; give one sum of squares a parameter, [P]", to_string(*ports[0])));
    return std::vector<Shape>{{1}, {1}};
  };
  op.evaluate = [](Arithmetic& m, const Attributes& attributes, const PortTensors& in) -> Values {
    const Value norm = m.apply(Function::sqrt, m.row_dot(m.load(*in[0]), nullptr));
    const Value limit = constant(fp32_number(attributes.real("max_norm")));
    const Value quotient = m.div(limit, m.add(norm, constant(fp32_number(1e-6))));
    // The smaller of two is the larger of their negatives; a NaN stays.
    const Value negative = m.scale_add(-1, quotient, 0, nullptr);
    const Value factor = m.scale_add(-1, m.row_max(concat_cols({negative, constant(-1)})), 0, nullptr);
    return std::vector{factor, norm};
  };
  op.flops_per_element = [](const OpCall& call, const Program& program) {
    return static_cast<double>(elements_of(program.spec(call.inputs[0]).shape)) + 4;
  };
  op.reduction_length = [](const OpCall& call, const Program& program) {
    return elements_of(program.spec(call.inputs[0]).shape);
  };
  op.symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
    return {{Symmetry::Kind::reduction, "parameters", {{0, 0}}, {}, false, 0}};
  };
  return op;
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_reduction_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  for (auto* define : {gradient_reduction_op, square_sum_op, clip_factor_op})
    ops.push_back(make_op(define()));
  return ops;
}

}  // namespace parity
