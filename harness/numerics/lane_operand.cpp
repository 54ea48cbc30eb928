#include "harness/numerics/lane_operand.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace parity {

LaneOperand pack_lanes(const MatrixView<double>& m, const std::vector<std::int64_t>& permutation,
                       std::int64_t width, int min_exponent) {
  constexpr int none = 1 << 20;
  LaneOperand packed{m.rows, m.cols, width, {}, {}, 0, 0};
  const auto size = static_cast<std::size_t>(packed.panels() * width * m.cols);
  packed.value.resize(size);
  packed.exponent.resize(size, no_exponent);
  const std::int64_t panels = packed.panels();
  int smallest = none, largest = -none;
#pragma omp parallel for schedule(static) reduction(min         \
                                                    : smallest) \
    reduction(max                                               \
              : largest) if (m.rows * m.cols > 32768)
  for (std::int64_t p = 0; p < panels; ++p) {
    const std::int64_t height = std::min(width, m.rows - p * width);
    for (std::int64_t at = 0; at < m.cols; ++at) {
      const std::int64_t k = permutation.empty() ? at : permutation[static_cast<std::size_t>(at)];
      const auto out = static_cast<std::size_t>((p * m.cols + at) * width);
      for (std::int64_t r = 0; r < height; ++r) {
        const double x = m(p * width + r, k);
        if (x == 0 || !std::isfinite(x)) continue;
        const int biased = static_cast<int>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7ff);
        const int exponent = std::max(biased - 1023, min_exponent);
        packed.value[out + static_cast<std::size_t>(r)] = static_cast<float>(x);
        packed.exponent[out + static_cast<std::size_t>(r)] = static_cast<std::int16_t>(exponent);
        smallest = std::min(smallest, exponent);
        largest = std::max(largest, exponent);
      }
    }
  }
  if (smallest <= largest) {
    packed.smallest = smallest;
    packed.largest = largest;
  }
  return packed;
}

}  // namespace parity
