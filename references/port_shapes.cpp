#include "references/port_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "harness/numerics/summation_order.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

/// Copies element by element along `axis`, whose entry i comes from source[i].
void copy_along(const Tensor& from, std::size_t axis, std::span<const std::int64_t> source, Tensor& to) {
  const Shape& shape = to.shape();
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  const std::int64_t length = shape[axis];
  const std::int64_t from_length = from.shape()[axis];
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    const std::int64_t at = i / inner % length;
    const std::int64_t outer = i / inner / length;
    const std::int64_t index =
        (outer * from_length + source[static_cast<std::size_t>(at)]) * inner + i % inner;
    to.set_bits(i, from.bits(index));
  }
}

}  // namespace

Result<PortShape> port_shape(std::string_view op, std::string_view port, const Shape& shape) {
  if (shape.size() != 2 && shape.size() != 3) {
    return bad_input(
        fmt::format("{}: {} has shape {}; give a matrix [rows, cols] or a batch [batch, rows, cols]", op,
                    port, to_string(shape)));
  }
  const bool batched = shape.size() == 3;
  return PortShape{batched ? shape[0] : 1, shape[shape.size() - 2], shape.back(), batched};
}

PortShape transposed(PortShape shape, bool transpose) {
  if (transpose) std::swap(shape.rows, shape.cols);
  return shape;
}

Tensor take(const Tensor& tensor, std::size_t axis, std::span<const std::int64_t> indices) {
  std::vector<std::int64_t> all;
  if (indices.empty()) {
    all.resize(static_cast<std::size_t>(tensor.shape()[axis]));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    indices = all;
  }
  Shape shape = tensor.shape();
  shape[axis] = static_cast<std::int64_t>(indices.size());
  auto result = Tensor::create(tensor.dtype(), shape);
  if (!result) return {};  // smaller than a tensor that exists
  copy_along(tensor, axis, indices, *result);
  return std::move(*result);
}

Tensor permute(const Tensor& tensor, std::size_t axis, std::span<const std::int64_t> order) {
  Tensor result = tensor;
  copy_along(tensor, axis, order, result);
  return result;
}

std::vector<std::int64_t> random_permutation(std::int64_t n, std::uint64_t seed) {
  auto plan = plan_summation({SummationOrder::Kind::permuted, 0, seed}, n);
  return plan ? std::move(plan->permutation) : std::vector<std::int64_t>{};
}

Result<void> check_attributes(std::string_view op, const Attributes& attributes,
                              std::span<const std::string_view> integers,
                              std::span<const std::string_view> reals,
                              std::span<const std::string_view> texts) {
  const auto has = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [name, value] : attributes.all()) {
    const bool known = has(integers, name) || has(reals, name) || has(texts, name);
    if (!known) return bad_input(fmt::format("{}: it has no attribute '{}'", op, name));
    const bool typed = (has(integers, name) && std::holds_alternative<std::int64_t>(value)) ||
                       (has(reals, name) && std::holds_alternative<double>(value)) ||
                       (has(texts, name) && std::holds_alternative<std::string>(value));
    if (!typed) {
      return bad_input(fmt::format("{}: attribute '{}' must be {}", op, name,
                                   has(integers, name) ? "an integer"
                                   : has(reals, name)  ? "a real number"
                                                       : "a text"));
    }
  }
  return {};
}

}  // namespace parity
