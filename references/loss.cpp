// softmax_cross_entropy, mean and their backward ops (docs/operations.md).
#include <fmt/format.h>

#include "harness/numerics/value_shape.hpp"
#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

/// exp(l - m) and its row sums; m, the row's maximum, comes from the inputs and is exact.
struct Exponentials {
  Value maximum, weights, total;
};
Exponentials exponentials_of(Arithmetic& arithmetic, const Value& logits) {
  Exponentials out;
  out.maximum = arithmetic.row_max(logits);
  out.weights = arithmetic.apply(Function::exp, difference(arithmetic, logits, out.maximum));
  out.total = arithmetic.row_dot(out.weights, nullptr);
  return out;
}

Result<std::vector<Value>> evaluate_loss(Arithmetic& arithmetic, const Attributes&,
                                         const PortTensors& inputs) {
  const Value logits = arithmetic.load(*inputs[0]);
  const auto targets = indices_of("targets", *inputs[1], logits.cols);
  if (!targets) return tl::unexpected(targets.error());
  if (targets->empty()) return std::vector<Value>{filled(1, 1, 0, 0)};
  std::vector<Index> places;
  for (std::size_t row = 0; row < targets->size(); ++row)
    places.push_back(static_cast<Index>(row) * logits.cols + (*targets)[row]);
  const Exponentials e = exponentials_of(arithmetic, logits);
  const Value log_sum = arithmetic.add(e.maximum, arithmetic.apply(Function::log, e.total));
  const Value target = take_rows(reshape(logits, 1, logits.size(), 1), places);
  const Value loss = difference(arithmetic, log_sum, target);
  return std::vector<Value>{reshape(loss, 1, 1, logits.rows)};
}

Result<std::vector<Value>> evaluate_loss_backward(Arithmetic& arithmetic, const Attributes&,
                                                  const PortTensors& inputs) {
  const Value logits = arithmetic.load(*inputs[0]);
  const auto targets = indices_of("targets", *inputs[1], logits.cols);
  if (!targets) return tl::unexpected(targets.error());
  if (targets->empty()) return std::vector<Value>{filled(1, 0, logits.cols, 0)};
  std::vector<bool> is_target(static_cast<std::size_t>(logits.size()));
  for (std::size_t row = 0; row < targets->size(); ++row)
    is_target[row * static_cast<std::size_t>(logits.cols) + static_cast<std::size_t>((*targets)[row])] = true;
  const Exponentials e = exponentials_of(arithmetic, logits);
  const Value softmax = arithmetic.div(e.weights, e.total);
  // Nothing is rounded where a zero would be taken off.
  const Value off = select(is_target, difference(arithmetic, softmax, constant(1)), softmax);
  const Value d_row = reshape(arithmetic.load(*inputs[2]), 1, logits.rows, 1);
  return std::vector<Value>{arithmetic.mul(off, d_row)};
}

Result<std::vector<Value>> evaluate_mean(Arithmetic& arithmetic, const Attributes&,
                                         const PortTensors& inputs) {
  const Value x = arithmetic.load(*inputs[0]);
  return std::vector<Value>{
      arithmetic.div(arithmetic.row_dot(x, nullptr), constant(static_cast<double>(x.cols)))};
}

Result<std::vector<Value>> evaluate_mean_backward(Arithmetic& arithmetic, const Attributes& attributes,
                                                  const PortTensors& inputs) {
  const Index count = attributes.integer("count");
  const Value share = arithmetic.div(arithmetic.load(*inputs[0]), constant(static_cast<double>(count)));
  return std::vector<Value>{
      reshape(take_rows(share, std::vector<Index>(static_cast<std::size_t>(count), 0)), 1, 1, count)};
}

Result<MatrixSize> check_logits(PortShapes in) {
  const auto size = matrix_size("logits", *in[0]);
  if (!size) return size;
  if (size->cols == 0) return bad_input("logits have no columns; there must be one class at least");
  if (auto ok = expect_shape("targets", *in[1], {size->rows}); !ok) return tl::unexpected(ok.error());
  return size;
}

Index classes(const OpCall& call, const Program& program) {
  return program.spec(call.inputs[0]).shape[1];
}

Result<void> loss_gradient(const OpCall& call, GradientBuilder& builder) {
  const TensorId d_row = builder.output_gradient(0);
  if (d_row == no_tensor || !builder.wants(0)) return {};
  builder.emit({"softmax_cross_entropy_backward",
                {},
                {call.inputs[0], call.inputs[1], d_row},
                {builder.input_gradient(0)}});
  return {};
}

Result<void> mean_gradient(const OpCall& call, GradientBuilder& builder) {
  const TensorId d_mean = builder.output_gradient(0);
  if (d_mean == no_tensor || !builder.wants(0)) return {};
  const Index count = builder.program().spec(call.inputs[0]).shape[0];
  builder.emit({"mean_backward", {{"count", count}}, {d_mean}, {builder.input_gradient(0)}});
  return {};
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_loss_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(make_op({
      .name = "softmax_cross_entropy",
      .summary = "row_loss = (m + log(sum exp(logits - m))) - logits[target], m the row's maximum",
      .inputs = {{"logits"}, {"targets"}},
      .outputs = {{"row_loss"}},
      .attributes = {},
      .infer = [](const Attributes&, PortShapes in) -> Result<std::vector<Shape>> {
        const auto size = check_logits(in);
        if (!size) return tl::unexpected(size.error());
        return std::vector<Shape>{{size->rows}};
      },
      .evaluate = evaluate_loss,
      .gradient = loss_gradient,
      // Maximum, difference, exp and sum for each class; the sum's logarithm and two additions.
      .flops_per_element =
          [](const OpCall& call, const Program& program) {
            return 4 * static_cast<double>(classes(call, program)) + 3;
          },
      .reduction_length = classes,
      .symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
        return {{Symmetry::Kind::reduction, "classes", {{0, 0}, {1, 0, 0, 1, true}}, {}},
                {Symmetry::Kind::batch, "rows", {{0, 1}, {1, 0}}, {{0, 0}}}};
      },
  }));
  ops.push_back(make_op({
      .name = "softmax_cross_entropy_backward",
      .summary = "dLogits = (softmax(logits) - onehot(targets)) * dRow",
      .inputs = {{"logits"}, {"targets"}, {"dRow"}},
      .outputs = {{"dLogits"}},
      .attributes = {},
      .infer = [](const Attributes&, PortShapes in) -> Result<std::vector<Shape>> {
        const auto size = check_logits(in);
        if (!size) return tl::unexpected(size.error());
        if (auto ok = expect_shape("dRow", *in[2], {size->rows}); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{*in[0]};
      },
      .evaluate = evaluate_loss_backward,
      .gradient = {},
      .flops_per_element = [](const OpCall&, const Program&) { return 7.0; },
      .reduction_length = classes,
      .symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
        return {{Symmetry::Kind::reduction, "classes", {{0, 0}, {1, 0, 0, 1, true}}, {{0, 0}}},
                {Symmetry::Kind::batch, "rows", {{0, 1}, {1, 0}, {2, 0}}, {{0, 1}}}};
      },
  }));
  ops.push_back(make_op({
      .name = "mean",
      .summary = "Y = (sum X) / n",
      .inputs = {{"X"}},
      .outputs = {{"Y"}},
      .attributes = {},
      .infer = [](const Attributes&, PortShapes in) -> Result<std::vector<Shape>> {
        const Shape& x = *in[0];
        if (x.size() != 1 || x[0] == 0)
          return bad_input(
              fmt::format("X has shape {}; give a vector of one element at least", to_string(x)));
        return std::vector<Shape>{{1}};
      },
      .evaluate = evaluate_mean,
      .gradient = mean_gradient,
      .flops_per_element =
          [](const OpCall& call, const Program& program) {
            return static_cast<double>(program.spec(call.inputs[0]).shape[0]);
          },
      .reduction_length = [](const OpCall& call,
                             const Program& program) { return program.spec(call.inputs[0]).shape[0]; },
      .symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
        return {{Symmetry::Kind::reduction, "elements", {{0, 0}}, {}, false, 0}};
      },
  }));
  ops.push_back(make_op({
      .name = "mean_backward",
      .summary = "dX = dY / count, for each of count elements",
      .inputs = {{"dY"}},
      .outputs = {{"dX"}},
      .attributes = {{"count", Index{1}, true, 1, 0x1p40}},
      .infer = [](const Attributes& attributes, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = expect_shape("dY", *in[0], {1}); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{{attributes.integer("count")}};
      },
      .evaluate = evaluate_mean_backward,
      .gradient = {},
      .flops_per_element = [](const OpCall&, const Program&) { return 1.0; },
      .reduction_length = {},
  }));
  return ops;
}

}  // namespace parity
