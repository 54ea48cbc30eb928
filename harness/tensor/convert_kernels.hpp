#pragma once
// Bit-level conversions and their loops over contiguous arrays. With F16C the loops use it; the portable code
// gives the same bits.
#include <bit>
#include <cmath>
#include <cstdint>
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace parity::kernels {

inline std::uint16_t f32_to_f16_bits(std::uint32_t bits, bool truncate) {
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {  // NaN: quiet bit and the upper payload
    half = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  } else if (magnitude >= 0x47800000U) {  // 65536 and above
    half = truncate && magnitude != 0x7f800000U ? 0x7bffU : 0x7c00U;
  } else if (magnitude >= 0x38800000U) {  // normal: move the exponent's bias, round the 13 bits dropped
    const std::uint32_t rebased = magnitude - 0x38000000U;
    half = (rebased + (truncate ? 0U : 0xfffU + ((rebased >> 13) & 1U))) >> 13;
  } else if (magnitude >= 0x33000000U) {  // subnormal, 2^-25 and above: in units of 2^-24
    const std::uint32_t shift = 126U - (magnitude >> 23);
    const std::uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
    const std::uint32_t carry = truncate ? 0U : (1U << (shift - 1)) - 1U + ((significand >> shift) & 1U);
    half = (significand + carry) >> shift;
  }
  return static_cast<std::uint16_t>(sign | half);
}

inline float f16_bits_to_f32(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fU;
  const std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  if (exponent == 31) {
    const std::uint32_t quiet = fraction != 0 ? 0x400000U : 0U;
    return std::bit_cast<float>(sign | 0x7f800000U | quiet | (fraction << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (fraction << 13));
}

inline std::uint16_t f32_to_bf16_bits(std::uint32_t bits, bool truncate) {
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t carry = truncate ? 0U : 0x7fffU + ((bits >> 16) & 1U);
  const std::uint32_t rounded = (bits + carry) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>(magnitude > 0x7f800000U ? quiet : rounded);
}

inline float bf16_bits_to_f32(std::uint16_t bits) {
  const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
  return std::bit_cast<float>((word & 0x7fffffffU) > 0x7f800000U ? word | 0x400000U : word);
}

/// fp64 to the nearest fp32 whose rounding to a format of at most 22 bits equals the direct rounding: round
/// to odd. If the conversion is inexact, the last bit is made 1, so no later tie is mistaken (Boldo &
/// Melquiond 2008).
inline float f64_to_f32_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value || std::isnan(value)) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  // Towards zero first (from infinity this gives the largest finite number), then the odd neighbour.
  if (std::fabs(back) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

inline std::uint16_t f64_to_f16_bits(double value) {
  return f32_to_f16_bits(std::bit_cast<std::uint32_t>(f64_to_f32_odd(value)), false);
}
inline std::uint16_t f64_to_bf16_bits(double value) {
  return f32_to_bf16_bits(std::bit_cast<std::uint32_t>(f64_to_f32_odd(value)), false);
}

template <class Out>
void widen_bf16(const std::uint16_t* from, Out* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(bf16_bits_to_f32(from[i]));
}

inline void narrow_bf16(const double* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    // Branch-free form of f64_to_bf16_bits, so that the loop vectorises.
    const float nearest = static_cast<float>(from[i]);
    const double back = static_cast<double>(nearest);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
    const std::uint32_t toward_zero = bits - static_cast<std::uint32_t>(std::fabs(back) > std::fabs(from[i]));
    // A NaN compares as inexact, but must keep its payload.
    const bool inexact = back < from[i] || back > from[i];
    to[i] = f32_to_bf16_bits(inexact ? toward_zero | 1U : bits, false);
  }
}

template <class Out>
void widen_f16_portable(const std::uint16_t* from, Out* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f16_bits_to_f32(from[i]));
}

inline void narrow_f16_portable(const double* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = f64_to_f16_bits(from[i]);
}

#ifdef __F16C__
inline void store(float* to, __m256 values) {
  _mm256_storeu_ps(to, values);
}
inline void store(double* to, __m256 values) {
  _mm256_storeu_pd(to, _mm256_cvtps_pd(_mm256_castps256_ps128(values)));
  _mm256_storeu_pd(to + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)));
}

template <class Out>
void widen_f16(const std::uint16_t* from, Out* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    store(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  widen_f16_portable(from + i, to + i, count - i);
}

inline void narrow_f16(const double* from, std::uint16_t* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256d value = _mm256_loadu_pd(from + i);
    const __m128 single = _mm256_cvtpd_ps(value);
    // Two roundings differ from one only if the first was inexact and landed on a tie of the second, which
    // has (at least) the low 12 bits zero. Those few go one by one.
    const __m128i tail = _mm_and_si128(_mm_castps_si128(single), _mm_set1_epi32(0xfff));
    const int tie = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(tail, _mm_setzero_si128())));
    const int inexact = _mm256_movemask_pd(_mm256_cmp_pd(value, _mm256_cvtps_pd(single), _CMP_NEQ_OQ));
    if ((tie & inexact) != 0) {
      narrow_f16_portable(from + i, to + i, 4);
      continue;
    }
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i), _mm_cvtps_ph(single, _MM_FROUND_TO_NEAREST_INT));
  }
  narrow_f16_portable(from + i, to + i, count - i);
}
#else
template <class Out>
void widen_f16(const std::uint16_t* from, Out* to, std::int64_t count) {
  widen_f16_portable(from, to, count);
}
inline void narrow_f16(const double* from, std::uint16_t* to, std::int64_t count) {
  narrow_f16_portable(from, to, count);
}
#endif

}  // namespace parity::kernels
