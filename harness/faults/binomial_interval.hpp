#pragma once
#include <cstdint>

namespace parity::faults {

/// The regularised incomplete beta function I_x(a, b), a and b positive: the continued fraction of
/// Abramowitz & Stegun 26.5.8 on the side where it converges fast; within about 1e-13 of 1.
double incomplete_beta(double a, double b, double x);

/// The interval of Clopper and Pearson (1934) for a probability, after `successes` of `trials`: exact, so
/// that it covers the true value at least `confidence` of the time. No trials: all of [0, 1].
struct BinomialInterval {
  double low = 0, high = 1;
};
BinomialInterval clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence = 0.95);

/// One-sided upper bound of a probability after 0 of `trials`: 1 - (1 - confidence)^(1/trials), about
/// 3/trials.
double bound_after_none(std::int64_t trials, double confidence = 0.95);

}  // namespace parity::faults
