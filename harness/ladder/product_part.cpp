#include "harness/ladder/product_part.hpp"

#include <algorithm>
#include <numeric>

#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

/// Puts columns [first, first + from.cols) in place.
void paste(const std::vector<double>& from, const Value& piece, std::int64_t first, std::vector<double>& into,
           const Value& whole) {
  if (from.empty()) return;
  into.resize(static_cast<std::size_t>(whole.size()));
  for (std::int64_t line = 0; line < piece.batch * piece.rows; ++line)
    std::copy_n(from.begin() + line * piece.cols, piece.cols, into.begin() + line * whole.cols + first);
}

}  // namespace

std::int64_t dimension(const Shape& shape, std::size_t from_last) {
  return shape.size() > from_last ? shape[shape.size() - 1 - from_last] : 1;
}

std::vector<std::int64_t> chosen_or_all(const std::vector<std::int64_t>& chosen, std::int64_t size) {
  if (!chosen.empty()) return chosen;
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

Result<Tensor> part_of(const Tensor& whole, const Part& part) {
  const std::int64_t rows = dimension(whole.shape(), 1), cols = dimension(whole.shape(), 0);
  const auto r = chosen_or_all(part.rows, rows), c = chosen_or_all(part.cols, cols);
  Shape shape = whole.shape();
  shape[shape.size() - 1] = static_cast<std::int64_t>(c.size());
  shape[shape.size() - 2] = static_cast<std::int64_t>(r.size());
  auto out = Tensor::create(whole.dtype(), shape);
  if (!out) return out;
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < dimension(whole.shape(), 2); ++b)
    for (const std::int64_t i : r)
      for (const std::int64_t j : c) out->set_bits(at++, whole.bits((b * rows + i) * cols + j));
  return out;
}

Result<CallResult> restricted(const CallResult& result, const Part& part, std::vector<Tensor>& held) {
  auto cut = result.op->restrict_to(*result.attributes, result.inputs, part.rows, part.cols);
  if (!cut) return fail(ErrorKind::internal, "a product without independent rows and columns");
  held = *std::move(cut);
  CallResult call = result;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i] != nullptr) call.inputs[i] = &held[i];
  return call;
}

Result<Value> reference_of(const CallResult& result, Arithmetic& tracked, const Part& part) {
  const Shape& shape = result.got->shape();
  const auto cols = chosen_or_all(part.cols, dimension(shape, 0));
  Value whole =
      make_value(dimension(shape, 2),
                 part.rows.empty() ? dimension(shape, 1) : static_cast<std::int64_t>(part.rows.size()),
                 static_cast<std::int64_t>(cols.size()));
  for (std::int64_t first = 0; first < whole.cols; first += panel_columns) {
    const std::int64_t end = std::min(first + panel_columns, whole.cols);
    std::vector<Tensor> held;
    const auto call = restricted(result, {part.rows, {cols.begin() + first, cols.begin() + end}}, held);
    if (!call) return tl::unexpected(call.error());
    auto values = call->op->evaluate(tracked, *call->attributes, call->inputs);
    if (!values) return tl::unexpected(values.error());
    const Value& piece = values->front();
    paste(piece.v, piece, first, whole.v, whole);
    paste(piece.hard, piece, first, whole.hard, whole);
    paste(piece.systematic, piece, first, whole.systematic, whole);
    paste(piece.mean, piece, first, whole.mean, whole);
    paste(piece.variance, piece, first, whole.variance, whole);
  }
  return whole;
}

}  // namespace parity
