// xsa and xsa_backward: what a head's output has in common with the direction of its own value is taken off
// (docs/operations.md). Rows here are one token and one head.
#include <fmt/format.h>

#include "harness/numerics/value_shape.hpp"
#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/row_collector.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

struct Layout {
  Index tokens = 0, heads = 0, kv_heads = 0, group = 0, dim = 0;
};

Layout layout_of(const Attributes& attributes, const Shape& y) {
  Layout layout;
  layout.tokens = y[0];
  layout.heads = attributes.integer("heads");
  layout.kv_heads = attributes.integer("kv_heads");
  layout.group = layout.heads / layout.kv_heads;
  layout.dim = y[1] / layout.heads;
  return layout;
}

Result<void> check_ports(const Attributes& attributes, const Shape& y, const Shape& v) {
  const auto size = matrix_size("Y", y);
  if (!size) return tl::unexpected(size.error());
  const Index heads = attributes.integer("heads"), kv_heads = attributes.integer("kv_heads");
  if (heads % kv_heads != 0)
    return bad_input(fmt::format("heads = {} is not a multiple of kv_heads = {}", heads, kv_heads));
  if (size->cols == 0 || size->cols % heads != 0)
    return bad_input(
        fmt::format("Y has {} columns; they must be a multiple of heads = {}", size->cols, heads));
  return expect_shape("V", v, {size->rows, size->cols / heads * kv_heads});
}

Value by_head(Arithmetic& arithmetic, const Tensor& tensor, Index dim) {
  const Value x = arithmetic.load(tensor);
  return reshape(x, 1, x.size() / dim, dim);
}

/// Rows of head g of every group, by token, then kv head.
std::vector<Index> rows_of_head(const Layout& layout, Index g) {
  std::vector<Index> rows;
  for (Index n = 0; n < layout.tokens; ++n)
    for (Index kv = 0; kv < layout.kv_heads; ++kv) rows.push_back(n * layout.heads + kv * layout.group + g);
  return rows;
}

struct Direction {
  Value unit, inverse;  ///< v^ [1, rows, dim] and i [1, rows, 1]
};

/// v^ = v * i, i = s > 0 ? 1 / sqrt(s) : 0, s = sum v^2.
Direction direction_of(Arithmetic& arithmetic, const Value& v) {
  const Value square = arithmetic.row_dot(v, &v);
  std::vector<bool> positive(square.v.size());
  for (std::size_t i = 0; i < positive.size(); ++i) positive[i] = square.v[i] > 0;
  Direction out;
  out.inverse =
      select(positive, arithmetic.apply(Function::inverse_sqrt, square), filled(1, square.rows, 1, 0));
  out.unit = arithmetic.mul(v, out.inverse);
  return out;
}

Result<std::vector<Value>> evaluate_xsa(Arithmetic& arithmetic, const Attributes& attributes,
                                        const PortTensors& inputs) {
  const Layout layout = layout_of(attributes, inputs[0]->shape());
  const Value y = by_head(arithmetic, *inputs[0], layout.dim);
  const Direction v = direction_of(arithmetic, by_head(arithmetic, *inputs[1], layout.dim));
  RowCollector o;
  for (Index g = 0; g < layout.group; ++g) {
    const std::vector<Index> rows = rows_of_head(layout, g);
    const Value head = take_rows(y, rows);
    const Value along = arithmetic.mul(v.unit, arithmetic.row_dot(head, &v.unit));
    o.add(difference(arithmetic, head, along), rows);
  }
  return std::vector<Value>{o.finish(layout.tokens, inputs[0]->shape()[1], layout.dim)};
}

Result<std::vector<Value>> evaluate_xsa_backward(Arithmetic& arithmetic, const Attributes& attributes,
                                                 const PortTensors& inputs) {
  const Layout layout = layout_of(attributes, inputs[0]->shape());
  const Value all_y = by_head(arithmetic, *inputs[0], layout.dim);
  const Value all_do = by_head(arithmetic, *inputs[2], layout.dim);
  const Direction v = direction_of(arithmetic, by_head(arithmetic, *inputs[1], layout.dim));
  RowCollector dy;
  Value dv = filled(1, v.unit.rows, v.unit.cols, 0);
  for (Index g = 0; g < layout.group; ++g) {
    const std::vector<Index> rows = rows_of_head(layout, g);
    const Value y = take_rows(all_y, rows), d_o = take_rows(all_do, rows);
    const Value a = arithmetic.row_dot(y, &v.unit);
    const Value da = arithmetic.scale_add(-1, arithmetic.row_dot(d_o, &v.unit), 0, nullptr);
    const Value through_a = arithmetic.mul(v.unit, da);
    dy.add(arithmetic.add(d_o, through_a), rows);
    const Value from_a = arithmetic.mul(y, da), from_o = arithmetic.mul(d_o, a);
    const Value d_unit = difference(arithmetic, from_a, from_o);
    const Value along = arithmetic.mul(v.unit, arithmetic.row_dot(v.unit, &d_unit));
    dv = arithmetic.add(dv, arithmetic.mul(difference(arithmetic, d_unit, along), v.inverse));
  }
  return std::vector<Value>{dy.finish(layout.tokens, inputs[0]->shape()[1], layout.dim),
                            reshape(std::move(dv), 1, layout.tokens, inputs[1]->shape()[1])};
}

std::vector<AttributeRule> xsa_rules() {
  constexpr double many = 0x1p30;
  return {{"heads", Index{1}, true, 1, many}, {"kv_heads", Index{1}, true, 1, many}};
}

std::vector<Symmetry> xsa_symmetries(const Attributes& attributes, PortShapes in, bool backward) {
  const Layout layout = layout_of(attributes, *in[0]);
  const Index dim = layout.dim, wide = layout.dim * layout.group;
  Symmetry columns{Symmetry::Kind::reduction, "columns of a head", {{0, 0, dim}, {1, 0, dim}}, {{0, 0, dim}}};
  Symmetry rows{Symmetry::Kind::batch, "rows", {{0, 1}, {1, 1}}, {{0, 1}}};
  Symmetry heads{Symmetry::Kind::position, "heads", {{0, 0, 0, wide}, {1, 0, 0, dim}}, {{0, 0, 0, wide}}};
  if (backward) {
    columns.inputs.push_back({2, 0, dim});
    columns.outputs.push_back({1, 0, dim});
    rows.inputs.push_back({2, 1});
    rows.outputs.push_back({1, 1});
    heads.inputs.push_back({2, 0, 0, wide});
    heads.outputs.push_back({1, 0, 0, dim});
  }
  return {columns, rows, heads};
}

Index head_dim(const OpCall& call, const Program& program) {
  return layout_of(call.attributes, program.spec(call.inputs[0]).shape).dim;
}

Result<void> xsa_gradient(const OpCall& call, GradientBuilder& builder) {
  const TensorId d_o = builder.output_gradient(0);
  if (d_o == no_tensor || !(builder.wants(0) || builder.wants(1))) return {};
  builder.emit({"xsa_backward",
                call.attributes,
                {call.inputs[0], call.inputs[1], d_o},
                {builder.input_gradient(0), builder.input_gradient(1)}});
  return {};
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_xsa_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(make_op({
      .name = "xsa",
      .summary = "O = Y - (Y . v^) v^, v^ the direction of V in the same token, by head",
      .inputs = {{"Y"}, {"V"}},
      .outputs = {{"O"}},
      .attributes = xsa_rules(),
      .infer = [](const Attributes& attributes, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = check_ports(attributes, *in[0], *in[1]); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{*in[0]};
      },
      .evaluate = evaluate_xsa,
      .gradient = xsa_gradient,
      .flops_per_element = [](const OpCall&, const Program&) { return 7.0; },
      .reduction_length = head_dim,
      .symmetries = [](const Attributes& a, PortShapes in) { return xsa_symmetries(a, in, false); },
  }));
  ops.push_back(make_op({
      .name = "xsa_backward",
      .summary = "dY, dV of xsa",
      .inputs = {{"Y"}, {"V"}, {"dO"}},
      .outputs = {{"dY"}, {"dV"}},
      .attributes = xsa_rules(),
      .infer = [](const Attributes& attributes, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = check_ports(attributes, *in[0], *in[1]); !ok) return tl::unexpected(ok.error());
        if (auto ok = expect_shape("dO", *in[2], *in[0]); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{*in[0], *in[1]};
      },
      .evaluate = evaluate_xsa_backward,
      .gradient = {},
      .flops_per_element = [](const OpCall&, const Program&) { return 18.0; },
      .reduction_length = head_dim,
      .symmetries = [](const Attributes& a, PortShapes in) { return xsa_symmetries(a, in, true); },
  }));
  return ops;
}

}  // namespace parity
