#pragma once
#include <cmath>
#include <cstddef>

namespace parity::lanes {

// Reductions in sixteen fixed lanes: the compiler may not reorder floating-point sums by itself, and with the
// order written down every machine gets the same figures.
inline constexpr std::size_t width = 16;

template <class Term>
inline double sum(std::size_t count, Term term) {
  double lane[width] = {};
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    for (std::size_t l = 0; l < width; ++l) lane[l] += term(i + l);
  }
  double tail = 0;
  for (; i < count; ++i) tail += term(i);
  for (std::size_t half = width / 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0] + tail;
}

/// Largest magnitude; 0 for none.
inline double largest(const double* a, std::size_t count) {
  double lane[width] = {};
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    for (std::size_t l = 0; l < width; ++l) {
      const double x = std::fabs(a[i + l]);
      lane[l] = x > lane[l] ? x : lane[l];
    }
  }
  double best = 0;
  for (; i < count; ++i) best = std::fabs(a[i]) > best ? std::fabs(a[i]) : best;
  for (const double x : lane) best = x > best ? x : best;
  return best;
}

}  // namespace parity::lanes
