#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace parity {

/// Round to nearest even to a format of `Precision` significand bits and exponents MinExponent..MaxExponent:
/// round_to() of convert.hpp, inlined for inner loops. With `Flush`, results below the normal range become
/// zero.
template <int Precision, int MinExponent, int MaxExponent, bool Flush = false>
inline double round_narrow(double x) {
  static_assert(Precision >= 2 && Precision <= 24);
  constexpr int shift = 53 - Precision;
  constexpr double smallest_normal = std::bit_cast<double>(std::uint64_t(1023 + MinExponent) << 52);
  constexpr double overflow = std::bit_cast<double>(std::uint64_t(1023 + MaxExponent + 1) << 52);
  // Adding 1.5 * 2^52 eta leaves room for multiples of eta only.
  constexpr double to_eta =
      1.5 * std::bit_cast<double>(std::uint64_t(1023 + 52 + MinExponent - (Precision - 1)) << 52);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t half = (std::uint64_t(1) << (shift - 1)) - 1 + ((bits >> shift) & 1);
  double rounded = std::bit_cast<double>((bits + half) & ~((std::uint64_t(1) << shift) - 1));
  const double magnitude = std::fabs(x);
  if (magnitude < smallest_normal) rounded = std::copysign((magnitude + to_eta) - to_eta, x);
  if (Flush && std::fabs(rounded) < smallest_normal) rounded = std::copysign(0.0, x);
  if (std::fabs(rounded) >= overflow) rounded = std::copysign(HUGE_VAL, x);
  return x != x ? x : rounded;
}

template <bool Flush = false>
inline double round_to_f16(double x) {
  return round_narrow<11, -14, 15, Flush>(x);
}
template <bool Flush = false>
inline double round_to_bf16(double x) {
  return round_narrow<8, -126, 127, Flush>(x);
}

/// fp64 -> fp32 toward zero; overflow gives the largest finite number.
inline float truncate_to_f32(double x) {
  const float nearest = static_cast<float>(x);
  if (std::fabs(static_cast<double>(nearest)) <= std::fabs(x) || x != x) return nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1);
}

}  // namespace parity
