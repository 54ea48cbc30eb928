#include "harness/numerics/adder_lanes.hpp"

#include <bit>

namespace parity {

#if defined(PARITY_WIDE_LANES)
const AdderLanes& wide_adder_lanes();  // adder_lanes_wide.cpp
#endif

const AdderLanes& adder_lanes() {
#if defined(PARITY_WIDE_LANES)
  static const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (wide) return wide_adder_lanes();
#endif
  return plain_adder_lanes();
}

bool adder_lanes_fit(const AdderSteps& steps, int multiply_precision, int smallest, int largest,
                     std::int64_t depth) {
  const int bits = steps.fraction_bits;
  // A product's significand is below 4: an aligned one is below 2^(bits + 2), and a step's below 2^31.
  if (multiply_precision > 12 || bits < 23 || bits > 28) return false;
  if (static_cast<std::int64_t>(steps.terms) << (bits + 2) > (std::int64_t{1} << 31)) return false;
  // The smallest sum is one grid step below the smallest product; as a step's largest it scales by
  // 2^(2 bits - smallest). Then every product, its 2 (precision - 1) trailing bits included, is above 2^-126.
  if (2 * bits - smallest > 126) return false;
  return largest + 2 + std::bit_width(static_cast<std::uint64_t>(depth)) < 126;
}

}  // namespace parity
