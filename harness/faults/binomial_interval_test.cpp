#include "harness/faults/binomial_interval.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace parity::faults {
namespace {

TEST(IncompleteBeta, ClosedForms) {
  for (const double x : {1e-6, 0.1, 0.3, 0.5, 0.77, 0.999}) {
    EXPECT_NEAR(incomplete_beta(1, 1, x), x, 1e-14);                       // uniform
    EXPECT_NEAR(incomplete_beta(3, 1, x), x * x * x, 1e-14);               // the largest of three
    EXPECT_NEAR(incomplete_beta(1, 4, x), 1 - std::pow(1 - x, 4), 1e-14);  // the least of four
    EXPECT_NEAR(incomplete_beta(2, 3, x), 1 - incomplete_beta(3, 2, 1 - x), 1e-14);
    EXPECT_NEAR(incomplete_beta(2, 2, x), x * x * (3 - 2 * x), 1e-14);
  }
  EXPECT_EQ(incomplete_beta(2, 5, 0), 0);
  EXPECT_EQ(incomplete_beta(2, 5, 1), 1);
}

// P(X >= k) of a binomial distribution, term by term.
TEST(IncompleteBeta, IsTheTailOfABinomial) {
  const int n = 12;
  const double p = 0.37;
  for (int k = 1; k <= n; ++k) {
    double tail = 0;
    for (int i = k; i <= n; ++i)
      tail += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0)) *
              std::pow(p, i) * std::pow(1 - p, n - i);
    EXPECT_NEAR(incomplete_beta(k, n - k + 1, p), tail, 1e-13) << k;
  }
}

// Values of published tables (R's binom.test gives the same).
TEST(ClopperPearson, KnownIntervals) {
  const auto expect = [](std::int64_t k, std::int64_t n, double low, double high) {
    const BinomialInterval i = clopper_pearson(k, n);
    EXPECT_NEAR(i.low, low, 5e-5) << k << " of " << n;
    EXPECT_NEAR(i.high, high, 5e-5) << k << " of " << n;
  };
  expect(0, 10, 0, 0.3085);
  expect(10, 10, 0.6915, 1);
  expect(5, 10, 0.1871, 0.8129);
  expect(1, 20, 0.0013, 0.2487);
  expect(99, 100, 0.9455, 0.9997);
  expect(0, 3000, 0, 0.00123);
}

TEST(ClopperPearson, EndsInClosedForm) {
  for (const std::int64_t n : {1, 7, 300, 100000}) {
    const auto count = static_cast<double>(n);
    EXPECT_NEAR(clopper_pearson(0, n).high, 1 - std::pow(0.025, 1 / count), 1e-12);
    EXPECT_NEAR(clopper_pearson(n, n).low, std::pow(0.025, 1 / count), 1e-12);
    EXPECT_NEAR(bound_after_none(n), 1 - std::pow(0.05, 1 / count), 1e-12);
  }
  EXPECT_NEAR(bound_after_none(3000), 3.0 / 3000, 2e-6);
  EXPECT_EQ(clopper_pearson(0, 0).low, 0);
  EXPECT_EQ(clopper_pearson(0, 0).high, 1);
}

// What the interval promises: at its ends the tails hold (1 - confidence) / 2.
TEST(ClopperPearson, TailsAtTheEnds) {
  for (const double confidence : {0.9, 0.95, 0.99}) {
    const BinomialInterval i = clopper_pearson(37, 113, confidence);
    EXPECT_NEAR(incomplete_beta(37, 113 - 37 + 1, i.low), (1 - confidence) / 2, 1e-9);
    EXPECT_NEAR(1 - incomplete_beta(38, 113 - 37, i.high), (1 - confidence) / 2, 1e-9);
  }
}

}  // namespace
}  // namespace parity::faults
