// Rotary position embedding (Su et al. 2021), partial or whole, in both pairings; and a factor per head.
#include <fmt/format.h>

#include <numeric>

#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/port_shapes.hpp"

namespace parity {
namespace {

using Shapes = Result<std::vector<Shape>>;
using Values = Result<std::vector<Value>>;
using Indices = std::vector<std::int64_t>;

Value take_columns(const Value& x, const Indices& columns) {
  return transpose(take_rows(transpose(x), columns));
}

struct RopeSettings {
  std::int64_t head_dim, rotary, seq;
  bool interleaved, inverse;
};
RopeSettings rope_settings_of(const Attributes& attributes) {
  return {attributes.integer("head_dim"), attributes.integer("rotary"), attributes.integer("seq"),
          attributes.text("pairing") == "interleaved", attributes.integer("inverse") != 0};
}

/// For every column that is rotated: itself, the other one of its pair, the column of the tables and whether
/// it is the second of the pair.
struct Rotation {
  Indices column, partner, angle;
  std::vector<bool> second;
};
Rotation rotation_of(const RopeSettings& s, std::int64_t cols) {
  Rotation rotation;
  const std::int64_t half = s.rotary / 2;
  for (std::int64_t head = 0; head < cols; head += s.head_dim) {
    for (std::int64_t i = 0; i < s.rotary; ++i) {
      const bool second = s.interleaved ? i % 2 == 1 : i >= half;
      const std::int64_t step = s.interleaved ? 1 : half;
      rotation.column.push_back(head + i);
      rotation.partner.push_back(head + (second ? i - step : i + step));
      rotation.angle.push_back(s.interleaved ? i / 2 : i % half);
      rotation.second.push_back(second);
    }
  }
  return rotation;
}

Value rope(Arithmetic& m, const RopeSettings& s, const Value& x, const Value& cosines, const Value& sines) {
  const Rotation rotation = rotation_of(s, x.cols);
  if (rotation.column.empty() || x.rows == 0) return x;
  Indices position(static_cast<std::size_t>(x.rows));
  for (std::int64_t row = 0; row < x.rows; ++row) position[static_cast<std::size_t>(row)] = row % s.seq;
  // y1 = x1 c + x2 s, y2 = x2 c - x1 s: the second of a pair takes -s, which rounds nothing; the inverse
  // swaps the signs.
  const Value negative = m.scale_add(-1, sines, 0, nullptr);
  const std::int64_t angles = sines.cols;
  Indices signed_angle = rotation.angle;
  for (std::size_t i = 0; i < signed_angle.size(); ++i)
    if (rotation.second[i] != s.inverse) signed_angle[i] += angles;
  const Value c = take_columns(take_rows(cosines, position), rotation.angle);
  const Value sn = take_columns(take_rows(concat_cols({sines, negative}), position), signed_angle);
  const Value rotated =
      m.add(m.mul(take_columns(x, rotation.column), c), m.mul(take_columns(x, rotation.partner), sn));
  // Back into their places; the other columns are copied.
  Indices source(static_cast<std::size_t>(x.cols));
  std::iota(source.begin(), source.end(), rotated.cols);
  for (std::size_t i = 0; i < rotation.column.size(); ++i)
    source[static_cast<std::size_t>(rotation.column[i])] = static_cast<std::int64_t>(i);
  return take_columns(concat_cols({rotated, x}), source);
}

OpDefinition rope_op() {
  OpDefinition op;
  op.name = "rope";
  op.summary = "y1 = x1 cos + x2 sin, y2 = x2 cos - x1 sin over pairs of a head's first `rotary` columns";
  op.inputs = {{"X"}, {"cos"}, {"sin"}};
  op.outputs = {{"Y"}};
  op.attributes = {{"head_dim", std::int64_t{0}, true, 1, 0x1p20},
                   {"rotary", std::int64_t{0}, true, 0, 0x1p20},
                   {"seq", std::int64_t{0}, true, 1, 0x1p31},
                   {"pairing", std::string(), true, 0, 0, {"half_split", "interleaved"}},
                   {"inverse", std::int64_t{0}, false, 0, 1}};
  op.infer = [](const Attributes& attributes, PortShapes ports) -> Shapes {
    const RopeSettings s = rope_settings_of(attributes);
    const auto x = matrix_size("X", *ports[0]);
    if (!x) return tl::unexpected(x.error());
    if (s.rotary % 2 != 0 || s.rotary > s.head_dim)
      return bad_input(fmt::format("attribute rotary is {}; it must be even and at most head_dim, {}",
                                   s.rotary, s.head_dim));
    if (x->cols % s.head_dim != 0)
      return bad_input(fmt::format("X has {} columns; head_dim {} must divide them", x->cols, s.head_dim));
    const Shape table{s.seq, s.rotary / 2};
    if (auto ok = expect_shape("cos", *ports[1], table); !ok) return tl::unexpected(ok.error());
    if (auto ok = expect_shape("sin", *ports[2], table); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>{*ports[0]};
  };
  op.evaluate = [](Arithmetic& arithmetic, const Attributes& attributes, const PortTensors& in) -> Values {
    return std::vector{rope(arithmetic, rope_settings_of(attributes), arithmetic.load(*in[0]),
                            arithmetic.load(*in[1]), arithmetic.load(*in[2]))};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    for (const std::size_t port : {1u, 2u})
      if (auto ok = expect_unwanted(call, builder, port, port == 1 ? "cos" : "sin"); !ok) return ok;
    if (!builder.wants(0)) return {};
    Attributes attributes = call.attributes;
    attributes.set("inverse", std::int64_t{1} - call.attributes.integer("inverse"));
    builder.emit({"rope",
                  attributes,
                  {builder.output_gradient(0), call.inputs[1], call.inputs[2]},
                  {builder.input_gradient(0)}});
    return {};
  };
  op.flops_per_element = [](const OpCall& call, const Program&) {
    const RopeSettings s = rope_settings_of(call.attributes);
    return 3.0 * static_cast<double>(s.rotary) / static_cast<double>(s.head_dim);
  };
  return op;
}

/// Columns of one head; the error names X and what its columns must be a multiple of.
Result<std::int64_t> head_columns(const MatrixSize& x, std::int64_t heads) {
  if (heads < 1 || x.cols % heads != 0)
    return bad_input(
        fmt::format("X has {} columns; the number of heads, {}, must divide them", x.cols, heads));
  return x.cols / heads;
}

OpDefinition head_scale_op() {
  OpDefinition op;
  op.name = "head_scale";
  op.summary = "Y = X * gain[head]";
  op.inputs = {{"X"}, {"gain"}};
  op.outputs = {{"Y"}};
  op.infer = [](const Attributes&, PortShapes ports) -> Shapes {
    const auto x = matrix_size("X", *ports[0]);
    if (!x) return tl::unexpected(x.error());
    if (ports[1]->size() != 1)
      return bad_input(fmt::format("gain has shape {}; give one number a head", to_string(*ports[1])));
    if (auto ok = head_columns(*x, ports[1]->front()); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>{*ports[0]};
  };
  op.evaluate = [](Arithmetic& m, const Attributes&, const PortTensors& in) -> Values {
    const Value x = m.load(*in[0]), gain = m.load(*in[1]);
    const std::int64_t heads = gain.cols;
    const Value y = m.mul(reshape(x, x.rows, heads, x.cols / heads), reshape(gain, 1, heads, 1));
    return std::vector{reshape(y, 1, x.rows, x.cols)};
  };
  op.gradient = [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
    const TensorId x = call.inputs[0], gain = call.inputs[1], g = builder.output_gradient(0);
    if (builder.wants(0)) builder.emit({"head_scale", {}, {g, gain}, {builder.input_gradient(0)}});
    if (builder.wants(1))
      builder.emit({"head_scale_gain_gradient",
                    {{"heads", builder.program().spec(gain).shape.front()}},
                    {x, g},
                    {builder.input_gradient(1)}});
    return {};
  };
  op.flops_per_element = [](const OpCall&, const Program&) { return 1.0; };
  op.restrict_to = [](const Attributes&, const PortTensors& in, std::span<const std::int64_t> rows,
                      std::span<const std::int64_t> cols) -> std::optional<std::vector<Tensor>> {
    if (!cols.empty()) return std::nullopt;
    return std::vector{take(*in[0], 0, rows), *in[1]};
  };
  return op;
}

OpDefinition head_scale_gain_gradient_op() {
  OpDefinition op;
  op.name = "head_scale_gain_gradient";
  op.summary = "dGain[head] = sum over rows and columns of dY X";
  op.inputs = {{"X"}, {"dY"}};
  op.outputs = {{"dGain"}};
  op.attributes = {{"heads", std::int64_t{0}, true, 1, 0x1p20}};
  op.infer = [](const Attributes& attributes, PortShapes ports) -> Shapes {
    const auto x = matrix_size("X", *ports[0]);
    if (!x) return tl::unexpected(x.error());
    if (auto ok = expect_shape("dY", *ports[1], *ports[0]); !ok) return tl::unexpected(ok.error());
    const std::int64_t heads = attributes.integer("heads");
    if (auto ok = head_columns(*x, heads); !ok) return tl::unexpected(ok.error());
    return std::vector<Shape>{{heads}};
  };
  op.evaluate = [](Arithmetic& m, const Attributes& attributes, const PortTensors& in) -> Values {
    const std::int64_t heads = attributes.integer("heads");
    // A head's terms, row after row, in one row.
    const auto by_head = [&](const Value& x) {
      const std::int64_t dim = x.cols / heads;
      std::vector<Value> parts;
      for (std::int64_t head = 0; head < heads; ++head)
        parts.push_back(reshape(take_cols(x, head * dim, dim), 1, 1, x.rows * dim));
      return concat_rows(parts);
    };
    const Value x = by_head(m.load(*in[0]));
    return std::vector{transpose(m.row_dot(by_head(m.load(*in[1])), &x))};
  };
  const auto terms = [](const OpCall& call, const Program& program) {
    const Shape& x = program.spec(call.inputs[0]).shape;
    return x[0] * x[1] / call.attributes.integer("heads");
  };
  op.flops_per_element = [terms](const OpCall& call, const Program& program) {
    return 2 * static_cast<double>(terms(call, program));
  };
  op.reduction_length = terms;
  op.symmetries = [](const Attributes& attributes, PortShapes in) -> std::vector<Symmetry> {
    const std::int64_t dim = in[0]->back() / attributes.integer("heads");
    return {{Symmetry::Kind::reduction, "rows", {{0, 1}, {1, 1}}, {}, true, 0},
            {Symmetry::Kind::reduction, "columns of a head", {{0, 0, dim}, {1, 0, dim}}, {}, true, 0},
            {Symmetry::Kind::position, "heads", {{0, 0, 0, dim}, {1, 0, 0, dim}}, {{0, 0}}}};
  };
  return op;
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_rope_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  for (auto* define : {rope_op, head_scale_op, head_scale_gain_gradient_op}) ops.push_back(make_op(define()));
  return ops;
}

}  // namespace parity
