#include "harness/tensor/tensor_scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

/// A 32-bit mix ("lowbias32", C. Wellons, Hash Prospector).
std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

std::uint32_t element_hash(std::uint64_t bits, std::int64_t index, bool wide) {
  const std::uint32_t place = static_cast<std::uint32_t>(index + 1) * 0x9e3779b9U;
  const std::uint32_t low = mixed(static_cast<std::uint32_t>(bits) ^ place);
  return wide ? low + mixed(static_cast<std::uint32_t>(bits >> 32) + place) : low;
}

/// |x| of an integer as bits of fp32, what does not fit cut off: the same on every device, as a conversion
/// need not be.
std::uint32_t magnitude_of_integer(double x) {
  const auto size = static_cast<std::uint32_t>(std::fabs(x));
  if (size == 0) return 0;
  const auto exponent = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
  const std::uint32_t fraction = exponent <= 23 ? size << (23 - exponent) : size >> (exponent - 23);
  return (exponent + 127) << 23 | (fraction & 0x7fffffU);
}

}  // namespace

std::array<std::int32_t, scan_words> to_words(const TensorScan& s) {
  return {static_cast<std::int32_t>(s.nan),
          static_cast<std::int32_t>(s.infinite),
          static_cast<std::int32_t>(s.first_nonfinite),
          static_cast<std::int32_t>(s.unwritten),
          std::bit_cast<std::int32_t>(s.largest),
          std::bit_cast<std::int32_t>(s.hash)};
}

TensorScan from_words(const std::array<std::int32_t, scan_words>& w) {
  return {w[0], w[1], w[2], w[3], std::bit_cast<float>(w[4]), std::bit_cast<std::uint32_t>(w[5])};
}

TensorScan scan_tensor(const Tensor& tensor) {
  TensorScan scan;
  const std::uint64_t unwritten = poison_bits(tensor.dtype(), Poison::unwritten);
  const bool wide = size_of(tensor.dtype()) == 8, integers = !is_float(tensor.dtype());
  const bool poisoned = tensor.dtype() != DType::i8;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::uint64_t bits = tensor.bits(i);
    const double x = tensor.value(i);
    scan.hash += element_hash(bits, i, wide);
    scan.unwritten += poisoned && bits == unwritten;
    if (std::isfinite(x)) {
      scan.largest = std::max(scan.largest, integers ? std::bit_cast<float>(magnitude_of_integer(x))
                                                     : static_cast<float>(std::fabs(x)));
      continue;
    }
    (std::isnan(x) ? scan.nan : scan.infinite) += 1;
    if (scan.first_nonfinite < 0) scan.first_nonfinite = i;
  }
  return scan;
}

}  // namespace parity
