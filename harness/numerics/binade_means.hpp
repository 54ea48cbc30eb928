#pragma once
// Means of B = 2^floor(log2 |s|), for what roundings do to sums that are not known one by one.
#include <cmath>

#include "harness/numerics/value_access.hpp"

namespace parity {

inline constexpr double binade_mean = 0.721;  ///< of B / |s|, s uniform in a binade's logarithm: 1 / (2 ln 2)
inline constexpr double binade_square = 0.541;  ///< of (B / s)^2: 3 / (8 ln 2)

/// Sums s uniform in [s0, s1]. `difference` is s1 - s0 and `reciprocal` its inverse: several means
/// are taken along lines of one slope.
struct Line {
  Line(double from, double to, double slope, double per_slope)
      : s0(from), s1(to), difference(slope), reciprocal(per_slope) {}
  Line(double from, double to) : Line(from, to, to - from, 1 / (to - from)) {}

  double s0, s1, difference, reciprocal;

  double middle() const { return 0.5 * (s0 + s1); }
  /// Too flat for a difference of integrals; or so small that its inverse overflows.
  bool flat() const {
    const double least = 1e-4 * std::fabs(middle());
    return !(std::fabs(difference) > (least > 0x1p-1000 ? least : 0x1p-1000));
  }
  /// Mean of sgn(s) 2^floor(log2 |s|). The integral from 0 to x = 2^J m is sum_{j<J} 4^j + 4^J (m - 1) =
  /// 4^J (m - 2/3).
  double mean_binade() const {
    const auto integral = [](double x) {
      const double p = binade(x);
      return p * (std::fabs(x) - p * (2.0 / 3));
    };
    const double across = (integral(s1) - integral(s0)) * reciprocal;
    return flat() ? std::copysign(binade(middle()), middle()) : across;
  }
  /// Mean of 4^floor(log2 |s|); the integral is sgn(x) 8^J (m - 6/7).
  double mean_binade_square() const {
    const auto integral = [](double x) {
      const double p = binade(x);
      return std::copysign(p * p * (std::fabs(x) - p * (6.0 / 7)), x);
    };
    const double across = (integral(s1) - integral(s0)) * reciprocal;
    const double near = binade(middle()) * binade(middle());
    return flat() ? near : across;
  }
};

}  // namespace parity
