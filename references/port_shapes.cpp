#include "references/port_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "harness/numerics/summation_order.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

/// The last three dimensions, absent ones of size 1 and stride 0.
struct Walk {
  std::array<std::int64_t, 3> size{1, 1, 1}, stride{0, 0, 0};
  explicit Walk(const Tensor& tensor) {
    const std::size_t rank = tensor.shape().size();
    for (std::size_t d = 0; d < rank; ++d) {
      size[3 - rank + d] = tensor.shape()[d];
      stride[3 - rank + d] = tensor.strides()[d];
    }
  }
};

/// Copies the elements of a tensor of rank 1 to 3; along `axis`, entry i comes from source[i].
template <class Word>
void copy_words(const Tensor& from, std::size_t axis, std::span<const std::int64_t> source, Tensor& to) {
  const Walk read(from), write(to);
  axis += 3 - from.shape().size();
  const auto in = from.as<Word>();
  const auto out = to.as<Word>();
  const auto place = [&](std::size_t d, std::int64_t i) {
    return read.stride[d] * (d == axis ? source[static_cast<std::size_t>(i)] : i);
  };
  for (std::int64_t b = 0; b < write.size[0]; ++b) {
    for (std::int64_t r = 0; r < write.size[1]; ++r) {
      const std::int64_t to_row = b * write.stride[0] + r * write.stride[1];
      const std::int64_t from_row = place(0, b) + place(1, r);
      for (std::int64_t c = 0; c < write.size[2]; ++c)
        out[static_cast<std::size_t>(to_row + c * write.stride[2])] =
            in[static_cast<std::size_t>(from_row + place(2, c))];
    }
  }
}

void copy_along(const Tensor& from, std::size_t axis, std::span<const std::int64_t> source, Tensor& to) {
  switch (size_of(from.dtype())) {
    case 1:
      return copy_words<std::uint8_t>(from, axis, source, to);
    case 2:
      return copy_words<std::uint16_t>(from, axis, source, to);
    case 4:
      return copy_words<std::uint32_t>(from, axis, source, to);
    default:
      return copy_words<std::uint64_t>(from, axis, source, to);
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
