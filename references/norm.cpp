// Root-mean-square normalisation (Zhang & Sennrich 2019), of whole rows or of every `group` columns, and its
// gradients. The inverse R is an output because the backward pass needs it.
#include <fmt/format.h>

#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/port_shapes.hpp"

namespace parity {
namespace {

using Shapes = Result<std::vector<Shape>>;
using Values = Result<std::vector<Value>>;

AttributeRule group_rule() {
  return {"group", std::int64_t{0}, false, 0, 0x1p31};
}

/// Columns that are normalised together.
std::int64_t group_of(const Attributes& attributes, std::int64_t cols) {
  const std::int64_t group = attributes.integer("group");
  return group == 0 ? cols : group;
}

/// Checks X, group and weight; returns the shape of R.
Result<Shape> inverse_shape(const Attributes& attributes, const Shape& x,
                            const std::optional<Shape>& weight) {
  const auto size = matrix_size("X", x);
  if (!size) return tl::unexpected(size.error());
  if (size->cols == 0) return bad_input("X has no columns; there is no mean of them");
  const std::int64_t group = group_of(attributes, size->cols);
  if (size->cols % group != 0)
    return bad_input(
        fmt::format("attribute group is {}; it must divide the {} columns of X", group, size->cols));
  if (weight) {
    if (attributes.integer("group") != 0)
      return bad_input("a weight is given with groups; it belongs to the whole row (group = 0)");
    if (auto ok = expect_shape("weight", *weight, {size->cols}); !ok) return tl::unexpected(ok.error());
  }
  return Shape{size->rows, size->cols / group};
}

/// Every group a row of its own, and back.
Value to_groups(Value x, std::int64_t group) {
  const std::int64_t count = x.size() / group;
  return reshape(std::move(x), 1, count, group);
}

std::function<std::int64_t(const OpCall&, const Program&)> group_length() {
  return [](const OpCall& call, const Program& program) {
    return group_of(call.attributes, program.spec(call.inputs[0]).shape.back());
  };
}

OpDefinition rms_norm_op() {
  OpDefinition op;
  op.name = "rms_norm";
  op.summary = "Y = X R weight, R = 1 / sqrt(mean X^2 + eps), per row or group of columns";
  op.inputs = {{"X"}, {"weight", true}};
  op.outputs = {{"Y"}, {"R"}};
  op.attributes = {{"eps", 0.0, true, 0}, group_rule()};
  op.infer = [](const Attributes& attributes, PortShapes ports) -> Shapes {
    const auto r = inverse_shape(attributes, *ports[0], ports[1]);
    if (!r) return tl::unexpected(r.error());
    return std::vector<Shape>{*ports[0], *r};
  };
  op.evaluate = [](Arithmetic& m, const Attributes& attributes, const PortTensors& in) -> Values {
    const Value x = m.load(*in[0]);
    const std::int64_t group = group_of(attributes, x.cols);
    const Value groups = to_groups(x, group);
    const Value mean = m.div(m.row_dot(groups, &groups), constant(static_cast<double>(group)));
    const Value r =
        m.apply(Function::inverse_sqrt, m.add(mean, constant(fp32_number(attributes.real("eps")))));
    Value y = reshape(m.mul(groups, r), 1, x.rows, x.cols);
    if (in[1] != nullptr) y = m.mul(y, m.load(*in[1]));
    return std::vector{y, reshape(r, 1, x.rows, x.cols / group)};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    if (auto ok = expect_no_gradient(call, builder, 1, "R"); !ok) return ok;
    const TensorId x = call.inputs[0], weight = call.inputs[1], r = call.outputs[1];
    const TensorId g = builder.output_gradient(0);
    if (builder.wants(0))
      builder.emit({"rms_norm_backward",
                    {{"group", call.attributes.integer("group")}},
                    {x, weight, r, g},
                    {builder.input_gradient(0)}});
    if (weight != no_tensor && builder.wants(1))
      builder.emit({"rms_norm_weight_gradient", {}, {x, r, g}, {builder.input_gradient(1)}});
    return {};
  };
  op.flops_per_element = [](const OpCall& call, const Program&) {
    return call.inputs[1] == no_tensor ? 3.0 : 4.0;
  };
  op.reduction_length = group_length();
  op.symmetries = [](const Attributes& attributes, PortShapes) -> std::vector<Symmetry> {
    const std::int64_t group = attributes.integer("group");
    return {{Symmetry::Kind::reduction, "columns", {{0, 0, group}, {1, 0}}, {{0, 0, group}}},
            {Symmetry::Kind::batch, "rows", {{0, 1}}, {{0, 1}, {1, 1}}}};
  };
  return op;
}

OpDefinition rms_norm_backward_op() {
  OpDefinition op;
  op.name = "rms_norm_backward";
  op.summary = "dX = R (g - x^ mean(g x^)), g = dY weight, x^ = X R";
  op.inputs = {{"X"}, {"weight", true}, {"R"}, {"dY"}};
  op.outputs = {{"dX"}};
  op.attributes = {group_rule()};
  op.infer = [](const Attributes& attributes, PortShapes ports) -> Shapes {
    const auto r = inverse_shape(attributes, *ports[0], ports[1]);
    if (!r) return tl::unexpected(r.error());
    if (auto ok = expect_shape("R", *ports[2], *r); !ok) return tl::unexpected(ok.error());
    if (auto ok = expect_shape("dY", *ports[3], *ports[0]); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>{*ports[0]};
  };
  op.evaluate = [](Arithmetic& m, const Attributes& attributes, const PortTensors& in) -> Values {
    const Value x = m.load(*in[0]);
    const std::int64_t group = group_of(attributes, x.cols);
    Value gw = m.load(*in[3]);
    if (in[1] != nullptr) gw = m.mul(gw, m.load(*in[1]));
    gw = to_groups(std::move(gw), group);
    const Value r = to_groups(m.load(*in[2]), 1);
    const Value xh = m.mul(to_groups(x, group), r);
    const Value q = m.div(m.row_dot(gw, &xh), constant(static_cast<double>(group)));
    return std::vector{reshape(m.mul(difference(m, gw, m.mul(xh, q)), r), 1, x.rows, x.cols)};
  };
  op.flops_per_element = [](const OpCall& call, const Program&) {
    return call.inputs[1] == no_tensor ? 6.0 : 7.0;
  };
  op.reduction_length = group_length();
  op.restrict_to = [](const Attributes&, const PortTensors& in, std::span<const std::int64_t> rows,
                      std::span<const std::int64_t> cols) -> std::optional<std::vector<Tensor>> {
    if (!cols.empty()) return std::nullopt;
    return std::vector{take(*in[0], 0, rows), in[1] != nullptr ? *in[1] : Tensor{}, take(*in[2], 0, rows),
                       take(*in[3], 0, rows)};
  };
  op.symmetries = [](const Attributes& attributes, PortShapes) -> std::vector<Symmetry> {
    const std::int64_t group = attributes.integer("group");
    return {{Symmetry::Kind::reduction, "columns", {{0, 0, group}, {1, 0}, {3, 0, group}}, {{0, 0, group}}},
            {Symmetry::Kind::batch, "rows", {{0, 1}, {2, 1}, {3, 1}}, {{0, 1}}}};
  };
  return op;
}

OpDefinition rms_norm_weight_gradient_op() {
  OpDefinition op;
  op.name = "rms_norm_weight_gradient";
  op.summary = "dW = sum over the rows of dY X R";
  op.inputs = {{"X"}, {"R"}, {"dY"}};
  op.outputs = {{"dW"}};
  op.infer = [](const Attributes&, PortShapes ports) -> Shapes {
    const auto size = matrix_size("X", *ports[0]);
    if (!size) return tl::unexpected(size.error());
    if (auto ok = expect_shape("R", *ports[1], {size->rows, 1}); !ok) return tl::unexpected(ok.error());
    if (auto ok = expect_shape("dY", *ports[2], *ports[0]); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>{{size->cols}};
  };
  op.evaluate = [](Arithmetic& m, const Attributes&, const PortTensors& in) -> Values {
    const Value xh = transpose(m.mul(m.load(*in[0]), m.load(*in[1])));
    return std::vector{transpose(m.row_dot(transpose(m.load(*in[2])), &xh))};
  };
  const auto rows = [](const OpCall& call, const Program& program) {
    return program.spec(call.inputs[0]).shape.front();
  };
  op.flops_per_element = [rows](const OpCall& call, const Program& program) {
    return 3 * static_cast<double>(rows(call, program));
  };
  op.reduction_length = rows;
  op.restrict_to = [](const Attributes&, const PortTensors& in, std::span<const std::int64_t>,
                      std::span<const std::int64_t> cols) -> std::optional<std::vector<Tensor>> {
    return std::vector{take(*in[0], 1, cols), *in[1], take(*in[2], 1, cols)};
  };
  op.symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
    return {{Symmetry::Kind::reduction, "rows", {{0, 1}, {1, 1}, {2, 1}}, {}, true, 0},
            {Symmetry::Kind::batch, "columns", {{0, 0}, {2, 0}}, {{0, 0}}}};
  };
  return op;
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_norm_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  for (auto* define : {rms_norm_op, rms_norm_backward_op, rms_norm_weight_gradient_op})
    ops.push_back(make_op(define()));
  return ops;
}

}  // namespace parity
