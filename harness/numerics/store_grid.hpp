#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/tensor/dtype.hpp"

namespace parity {

/// The numbers of a store type as arithmetic on doubles, free of branches and tables so that loops over it
/// vectorise. Everything is exact: powers of two, and the addition of 1.5 * 2^52 ulp, which makes the fp64
/// adder round to a multiple of one ulp, ties to even.
struct StoreGrid {
  double smallest_power = 0;  ///< 2^min_exponent
  double ulp_scale = 0;       ///< 2^-(precision - 1)
  double largest = 0;
  bool narrow = true;  ///< false: every double (f64) or every integer in question (i32) is on the grid

  static StoreGrid of(DType type) {
    if (type == DType::i32 || type == DType::i8) return {0x1p31, 0x1p-31, 2147483647.0, false};
    // Below 2^-900 an fp64 ulp has no reciprocal; results that small are measured against the ulp there.
    if (type == DType::f64) return {0x1p-900, 0x1p-52, std::numeric_limits<double>::max(), false};
    const FloatFormat format = format_of(type);
    return {std::ldexp(1.0, format.min_exponent), std::ldexp(1.0, 1 - format.precision),
            largest_finite(format), true};
  }
};

/// How interval ends go to the output grid.
enum class EndRounding : std::uint8_t { nearest, toward_zero, outward };

namespace grid {

/// 2^floor(log2 |x|); 0 for zero and subnormal doubles.
inline double power_below(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000ULL);
}
inline double ulp(const StoreGrid& g, double x) {
  const double power = power_below(x);
  return (power > g.smallest_power ? power : g.smallest_power) * g.ulp_scale;
}
/// 1 / p for a power of two p in the normal range.
inline double reciprocal_power(double p) {
  return std::bit_cast<double>((std::uint64_t{2046} << 52) - std::bit_cast<std::uint64_t>(p));
}
/// Nearest multiple of one ulp, without overflow. |x| < 2^900.
inline double nearest_unbounded(const StoreGrid& g, double x) {
  const double magic = ulp(g, x) * 0x1.8p52;
  return (x + magic) - magic;
}
inline double overflow(const StoreGrid& g, double x) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double upper = x > g.largest ? inf : x;
  return upper < -g.largest ? -inf : upper;
}
inline double clamp_to_range(const StoreGrid& g, double x) {
  const double upper = x > g.largest ? g.largest : x;
  return upper < -g.largest ? -g.largest : upper;
}
/// Lower and upper end of an interval on the output grid.
template <EndRounding ends>
inline double lower_end(const StoreGrid& g, double x) {
  const double n = nearest_unbounded(g, x);
  if constexpr (ends == EndRounding::nearest) return overflow(g, n);
  const double below = n > x ? n - ulp(g, x) : n;
  if constexpr (ends == EndRounding::toward_zero) {
    const double above = n < x ? n + ulp(g, x) : n;
    return clamp_to_range(g, x < 0 ? above : below);
  }
  const double capped = below > g.largest ? g.largest : below;
  return overflow(g, capped);
}
template <EndRounding ends>
inline double upper_end(const StoreGrid& g, double x) {
  if constexpr (ends == EndRounding::outward) return -lower_end<ends>(g, -x);
  return lower_end<ends>(g, x);
}

}  // namespace grid
}  // namespace parity
