#include "harness/tensor/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "harness/tensor/convert.hpp"

namespace parity {
namespace {

static_assert(std::endian::native == std::endian::little, "stored bytes are taken as little-endian");

constexpr std::int64_t max_bytes = std::int64_t{1} << 40;

/// Error when two indices could reach the same storage position, or when the extent overflows.
Result<std::int64_t> checked_extent(const Shape& shape, const Strides& strides) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t d) { return shape[d] == 1; });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t extent = 1;
  for (const std::size_t d : order) {
    if (strides[d] < extent) {
      return bad_input(
          fmt::format("tensor of shape {} with strides {}: dimension {} has stride {}, but the dimensions "
                      "inside it span {} "
                      "elements, so its rows overlap; use a stride of at least {}",
                      to_string(shape), to_string(strides), d, strides[d], extent, extent));
    }
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) ||
        __builtin_add_overflow(extent, reach, &extent)) {
      return bad_input(fmt::format("tensor of shape {} with strides {}: its extent overflows 64 bits",
                                   to_string(shape), to_string(strides)));
    }
  }
  return extent;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t expected = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

}  // namespace

Strides contiguous_strides(const Shape& shape) {
  return leading_strides(shape, shape.empty() ? 0 : shape.back());
}

Strides leading_strides(const Shape& shape, std::int64_t leading) {
  Strides strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) {
    const std::int64_t inner = d + 1 == shape.size() ? leading : shape[d];
    // A shape whose product overflows is refused by Tensor::create; here only the undefined behaviour
    // matters.
    if (__builtin_mul_overflow(strides[d], inner, &strides[d - 1])) {
      strides[d - 1] = std::numeric_limits<std::int64_t>::max();
    }
  }
  return strides;
}

Result<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) {
      return bad_input(fmt::format("shape {}: dimension {} is negative", to_string(shape), d));
    }
    empty = empty || shape[d] == 0;
  }
  if (empty) return 0;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) {
      return bad_input(fmt::format("shape {}: the number of elements overflows 64 bits", to_string(shape)));
    }
  }
  return count;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<std::int64_t> storage_extent(DType dtype, const Shape& shape, const Strides& strides) {
  const auto count = element_count(shape);
  if (!count) return count;
  if (strides.size() != shape.size()) {
    return bad_input(fmt::format("tensor of shape {} with strides {}: {} dimensions but {} strides",
                                 to_string(shape), to_string(strides), shape.size(), strides.size()));
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] < 0) {
      return bad_input(fmt::format("tensor of shape {} with strides {}: stride {} is negative",
                                   to_string(shape), to_string(strides), d));
    }
  }
  std::int64_t extent = 0;
  if (*count > 0) {
    const auto checked = checked_extent(shape, strides);
    if (!checked) return tl::unexpected(checked.error());
    extent = *checked;
  }
  const auto element_size = static_cast<std::int64_t>(size_of(dtype));
  if (extent > max_bytes / element_size) {
    return bad_input(
        fmt::format("{} tensor of shape {} with strides {} needs {} elements of {} bytes; the limit is "
                    "2^40 bytes",
                    name_of(dtype), to_string(shape), to_string(strides), extent, element_size));
  }
  return extent;
}

Result<Tensor> Tensor::create(DType dtype, Shape shape, Strides strides) {
  const auto count = element_count(shape);
  if (!count) return tl::unexpected(count.error());
  if (strides.empty()) strides = contiguous_strides(shape);
  const auto checked = storage_extent(dtype, shape, strides);
  if (!checked) return tl::unexpected(checked.error());
  const std::int64_t extent = *checked;
  const auto element_size = static_cast<std::int64_t>(size_of(dtype));
  Tensor tensor;
  try {
    tensor.bytes_.resize(static_cast<std::size_t>(extent * element_size));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::internal, fmt::format("{} tensor of shape {}: cannot allocate {} bytes",
                                                 name_of(dtype), to_string(shape), extent * element_size));
  }
  tensor.contiguous_ = *count == 0 || is_contiguous(shape, strides);
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.strides_ = std::move(strides);
  tensor.elements_ = *count;
  tensor.extent_ = extent;
  return tensor;
}

std::int64_t Tensor::offset_of(std::int64_t index) const {
  if (contiguous_) return index;
  std::int64_t offset = 0;
  for (std::size_t d = shape_.size(); d-- > 0;) {
    offset += index % shape_[d] * strides_[d];
    index /= shape_[d];
  }
  return offset;
}

double Tensor::value(std::int64_t index) const {
  return decode(dtype_, bits(index));
}

std::uint64_t Tensor::bits(std::int64_t index) const {
  const std::size_t size = size_of(dtype_);
  std::uint64_t word = 0;
  std::memcpy(&word, bytes_.data() + static_cast<std::size_t>(offset_of(index)) * size, size);
  return word;
}

void Tensor::set_value(std::int64_t index, double value) {
  set_bits(index, encode(dtype_, value));
}

void Tensor::set_bits(std::int64_t index, std::uint64_t bits) {
  const std::size_t size = size_of(dtype_);
  std::memcpy(bytes_.data() + static_cast<std::size_t>(offset_of(index)) * size, &bits, size);
}

}  // namespace parity
