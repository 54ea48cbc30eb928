#pragma once
// Means of powers of two along a line, for what roundings do to a sum of which the ends are known.
#include <cmath>

#include "harness/numerics/value_access.hpp"

namespace parity {

/// Mean of sgn(s) 2^floor(log2 |s|) over s uniform in [s0, s1]. The integral from 0 to x = 2^J m is
/// sum_{j<J} 4^j + 4^J (m - 1) = 4^J (m - 2/3).
inline double mean_binade(double s0, double s1) {
  const double difference = s1 - s0;
  const double middle = 0.5 * (s0 + s1);
  const auto integral = [](double x) {
    const double p = binade(x);
    return p * (std::fabs(x) - p * (2.0 / 3));
  };
  const double across = (integral(s1) - integral(s0)) / difference;
  return std::fabs(difference) > 1e-4 * std::fabs(middle) ? across : std::copysign(binade(middle), middle);
}

/// Mean of 4^floor(log2 |s|) over s uniform in [s0, s1]; the integral is sgn(x) 8^J (m - 6/7).
inline double mean_binade_square(double s0, double s1) {
  const double difference = s1 - s0;
  const double middle = 0.5 * (s0 + s1);
  const auto integral = [](double x) {
    const double p = binade(x);
    return std::copysign(p * p * (std::fabs(x) - p * (6.0 / 7)), x);
  };
  const double across = (integral(s1) - integral(s0)) / difference;
  const double near = binade(middle) * binade(middle);
  return std::fabs(difference) > 1e-4 * std::fabs(middle) ? across : near;
}

}  // namespace parity
