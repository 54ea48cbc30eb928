#include "harness/tensor/poison.hpp"

#include <cstring>

#include "harness/tensor/layout.hpp"

namespace parity {
namespace {

template <class T>
void set_range(Tensor& tensor, std::int64_t begin, std::int64_t end, std::uint64_t bits) {
  T pattern{};
  std::memcpy(&pattern, &bits, sizeof pattern);
  T* data = reinterpret_cast<T*>(tensor.bytes().data());
  for (std::int64_t i = begin; i < end; ++i) std::memcpy(data + i, &pattern, sizeof pattern);
}

void set_range(Tensor& tensor, std::int64_t begin, std::int64_t end, std::uint64_t bits) {
  switch (size_of(tensor.dtype())) {
    case 8:
      return set_range<std::uint64_t>(tensor, begin, end, bits);
    case 4:
      return set_range<std::uint32_t>(tensor, begin, end, bits);
    case 1:
      return set_range<std::uint8_t>(tensor, begin, end, bits);
    default:
      return set_range<std::uint16_t>(tensor, begin, end, bits);
  }
}

}  // namespace

// The tags lie in the upper payload bits of a quiet NaN, so that a conversion between formats, which drops
// lower bits, cannot turn one tag into the other or into the default NaN. i32 has no NaN: two large odd
// negatives that no small-integer fill or sum of one comes near. i8 has 256 patterns and each is an ordinary
// value: a tag there says something only where no data is meant to be.
std::uint64_t poison_bits(DType dtype, Poison poison) {
  const bool unwritten = poison == Poison::unwritten;
  switch (dtype) {
    case DType::f64:
      return unwritten ? 0x7ffda5a5a5a5a5a5U : 0x7ffe5a5a5a5a5a5aU;
    case DType::f32:
      return unwritten ? 0x7feda5a5U : 0x7ff25a5aU;
    case DType::f16:
      return unwritten ? 0x7f6dU : 0x7f92U;
    case DType::bf16:
      return unwritten ? 0x7fedU : 0x7ff2U;
    case DType::i32:
      return unwritten ? 0x8da5a5a5U : 0x925a5a5bU;
    case DType::i8:
      return unwritten ? 0xa5U : 0x5bU;
  }
  return 0;
}

void poison_all(Tensor& tensor, Poison poison) {
  set_range(tensor, 0, tensor.extent(), poison_bits(tensor.dtype(), poison));
}

void poison_pads(Tensor& tensor, Poison poison) {
  const std::uint64_t bits = poison_bits(tensor.dtype(), poison);
  layout::for_gaps(tensor,
                   [&](std::int64_t begin, std::int64_t end) { set_range(tensor, begin, end, bits); });
}

std::vector<std::int64_t> damaged_pads(const Tensor& tensor, std::size_t limit) {
  const std::uint64_t expected = poison_bits(tensor.dtype(), Poison::guard);
  const std::size_t size = size_of(tensor.dtype());
  std::vector<std::int64_t> damaged;
  layout::for_gaps(tensor, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end && damaged.size() < limit; ++i) {
      if (std::memcmp(tensor.bytes().data() + static_cast<std::size_t>(i) * size, &expected, size) != 0) {
        damaged.push_back(i);
      }
    }
  });
  return damaged;
}

}  // namespace parity
