#include "harness/faults/binomial_interval.hpp"

#include <cmath>

namespace parity::faults {

namespace {

/// 1 + d1 / (1 + d2 / (1 + ...)), evaluated forwards (Lentz's method); the fraction is its inverse.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::abs(d) < tiny) d = tiny;
  d = 1 / d;
  double value = d;
  for (int m = 1; m <= 100000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      if (std::abs(d) < tiny) d = tiny;
      d = 1 / d;
      c = 1 + term / c;
      if (std::abs(c) < tiny) c = tiny;
      change = c * d;
      value *= change;
    }
    if (std::abs(change - 1) < 1e-15) break;
  }
  return value;
}

/// The x with I_x(a, b) = probability, by halving: I_x grows with x.
double beta_quantile(double a, double b, double probability) {
  double low = 0, high = 1;
  for (int i = 0; i < 200 && high - low > 1e-16 * high; ++i) {
    const double middle = low + (high - low) / 2;
    (incomplete_beta(a, b, middle) < probability ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (!(x > 0)) return 0;
  if (!(x < 1)) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

BinomialInterval clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence) {
  BinomialInterval interval;
  if (trials <= 0) return interval;
  const double tail = (1 - confidence) / 2;
  const auto k = static_cast<double>(successes), n = static_cast<double>(trials);
  if (successes > 0) interval.low = beta_quantile(k, n - k + 1, tail);
  if (successes < trials) interval.high = beta_quantile(k + 1, n - k, 1 - tail);
  return interval;
}

double bound_after_none(std::int64_t trials, double confidence) {
  return trials <= 0 ? 1 : -std::expm1(std::log1p(-confidence) / static_cast<double>(trials));
}

}  // namespace parity::faults
