#pragma once
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#else
#include <cmath>
#endif

namespace parity::simd {

// Fixed-width vectors of the compiler (GCC, clang). The lanes are part of the source, so sums over them give
// the same figures on every machine, whatever instructions they become.
using D4 __attribute__((vector_size(32))) = double;
using L4 __attribute__((vector_size(32))) = std::int64_t;
using F8 __attribute__((vector_size(32))) = float;
using I8 __attribute__((vector_size(32))) = std::int32_t;

template <class V, class T>
inline V load(const T* from) {
  using Unaligned __attribute__((aligned(sizeof(T)))) = V;
  return *reinterpret_cast<const Unaligned*>(from);
}
template <class V, class T>
inline void store(T* to, V v) {
  using Unaligned __attribute__((aligned(sizeof(T)))) = V;
  *reinterpret_cast<Unaligned*>(to) = v;
}
inline D4 fill(double x) {
  return D4{x, x, x, x};
}
inline F8 fill(float x) {
  return F8{x, x, x, x, x, x, x, x};
}
inline I8 fill(std::int32_t x) {
  return I8{x, x, x, x, x, x, x, x};
}

inline D4 magnitude(D4 x) {
  return reinterpret_cast<D4>(reinterpret_cast<L4>(x) & INT64_MAX);
}
inline F8 magnitude(F8 x) {
  return reinterpret_cast<F8>(reinterpret_cast<I8>(x) & INT32_MAX);
}
inline I8 sign_of(F8 x) {
  return reinterpret_cast<I8>(x) & INT32_MIN;
}
/// Lanes of x where the mask is set, zero elsewhere.
inline D4 where(L4 mask, D4 x) {
  return reinterpret_cast<D4>(mask & reinterpret_cast<L4>(x));
}
inline F8 where(I8 mask, F8 x) {
  return reinterpret_cast<F8>(mask & reinterpret_cast<I8>(x));
}
inline F8 flip(F8 x, I8 signs) {
  return reinterpret_cast<F8>(reinterpret_cast<I8>(x) ^ signs);
}

// a < b ? a : b and a > b ? a : b: the second operand where one is a NaN.
#if defined(__AVX2__)
inline D4 smaller(D4 a, D4 b) {
  return _mm256_min_pd(a, b);
}
inline D4 larger(D4 a, D4 b) {
  return _mm256_max_pd(a, b);
}
inline F8 smaller(F8 a, F8 b) {
  return _mm256_min_ps(a, b);
}
inline F8 larger(F8 a, F8 b) {
  return _mm256_max_ps(a, b);
}
inline F8 root(F8 x) {
  return _mm256_sqrt_ps(x);
}
/// Bit i: the sign of lane i.
inline unsigned sign_bits(I8 x) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<F8>(x)));
}
#else
inline D4 smaller(D4 a, D4 b) {
  return a < b ? a : b;
}
inline D4 larger(D4 a, D4 b) {
  return a > b ? a : b;
}
inline F8 smaller(F8 a, F8 b) {
  return a < b ? a : b;
}
inline F8 larger(F8 a, F8 b) {
  return a > b ? a : b;
}
inline F8 root(F8 x) {
  for (int i = 0; i < 8; ++i) x[i] = std::sqrt(x[i]);
  return x;
}
inline unsigned sign_bits(I8 x) {
  unsigned bits = 0;
  for (int i = 0; i < 8; ++i) bits |= static_cast<unsigned>(x[i] < 0) << i;
  return bits;
}
#endif
inline I8 smaller(I8 a, I8 b) {
  return a < b ? a : b;
}
inline I8 larger(I8 a, I8 b) {
  return a > b ? a : b;
}

/// Eight numbers rounded to fp32, in order.
inline F8 to_floats(D4 a, D4 b) {
  using F4 __attribute__((vector_size(16))) = float;
  return __builtin_shufflevector(__builtin_convertvector(a, F4), __builtin_convertvector(b, F4), 0, 1, 2, 3,
                                 4, 5, 6, 7);
}
/// The upper halves of eight 64-bit lanes, in order.
template <class V>
inline I8 upper_halves(V a, V b) {
  return __builtin_shufflevector(reinterpret_cast<I8>(a), reinterpret_cast<I8>(b), 1, 3, 5, 7, 9, 11, 13, 15);
}
inline double total(D4 x) {
  return (x[0] + x[2]) + (x[1] + x[3]);
}
inline double total(F8 x) {
  const double a = static_cast<double>(x[0]) + static_cast<double>(x[4]),
               b = static_cast<double>(x[1]) + static_cast<double>(x[5]),
               c = static_cast<double>(x[2]) + static_cast<double>(x[6]),
               d = static_cast<double>(x[3]) + static_cast<double>(x[7]);
  return (a + c) + (b + d);
}
inline double largest(D4 x) {
  const double a = x[0] > x[1] ? x[0] : x[1], b = x[2] > x[3] ? x[2] : x[3];
  return a > b ? a : b;
}

}  // namespace parity::simd
