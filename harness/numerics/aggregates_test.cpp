#include "harness/numerics/aggregates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/numerics/judge.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

using FindingKind = AggregateFinding::Kind;
using Scope = AggregateFinding::Scope;

TEST(Aggregates, SpreadDeviateIsNormalForFewElements) {
  // Against the exact tails of chi^2: P(X > x) = 1 - Phi(d). n = 2: exp(-x/2).
  for (const double p : {1e-3, 1e-6, 1e-9}) {
    const ScopeSums sums{2, 0, 0, -2 * std::log(p)};
    const double d = deviate(sums, FindingKind::spread);
    const double tail = 0.5 * std::erfc(d / std::sqrt(2));
    EXPECT_LT(std::fabs(std::log(tail) - std::log(p)), 0.13 * std::fabs(std::log(p))) << p;
    EXPECT_GE(tail, p);  // on the safe side
    // The plain form calls the same event far rarer than it is.
    const double plain = (sums.z_square / 2 - 1) * std::sqrt(2.0 / 2);
    EXPECT_GT(plain, d * 1.2);
  }
  EXPECT_LT(deviate({100, 0, 0, 10}, FindingKind::spread), 0);
  EXPECT_DOUBLE_EQ(deviate({100, -30, 0, 0}, FindingKind::bias), 3);
}

/// 64 x 64, errors given by `error` in units of sigma, references distinct unless `copies`.
struct Field {
  Tensor got = Tensor::create(DType::f64, {64, 64}).value();
  Value want;
  Contract contract;
  template <class Error>
  Field(Error error, bool copies = false) {
    want.rows = want.cols = 64;
    Tensor noise = Tensor::create(DType::f64, {64, 64}).value();
    fill_tensor(noise, {.fill = Fill::normal, .store = DType::f64});
    for (std::int64_t i = 0; i < 64 * 64; ++i) {
      const std::int64_t r = copies ? 0 : i / 64, c = i % 64;
      const double v = 1 + 1e-3 * static_cast<double>(r * 64 + c);
      want.v.push_back(v);
      want.hard.push_back(1e-5);
      want.variance.push_back(1e-14);
      got.set_value(i, v + 1e-7 * error(i / 64, c, copies ? noise.value(c) : noise.value(i)));
    }
    contract.store = DType::f64;
    contract.order_known = true;
  }
  Judgement judgement() const { return judge(got, want, contract, {}); }
};

// A truncating adder's bias, a hundredth of the store's ulp: invisible in each element, plain in a million.
// What the contract knows of it (systematic) is taken off the sum; more than that is a finding.
TEST(Aggregates, ACertainBiasBelowTheStoresNoiseIsAllowedAndNoMore) {
  constexpr std::int64_t side = 512;
  Tensor noise = Tensor::create(DType::f64, {side, side}).value();
  fill_tensor(noise, {.fill = Fill::uniform, .store = DType::f64});
  for (const double allowed : {0.006, 0.001}) {
    Tensor got = Tensor::create(DType::f16, {side, side}).value();
    Value want;
    want.rows = want.cols = side;
    for (std::int64_t i = 0; i < side * side; ++i) {
      const double v = 768 + 255 * noise.value(i);  // fp16's ulp is 0.5 there
      want.v.push_back(v);
      want.hard.push_back(0.1);
      want.systematic.push_back(allowed);
      want.mean.push_back(0);
      want.variance.push_back(1e-6);
      got.set_value(i, v - 0.005);
    }
    Contract contract;
    contract.store = DType::f16;
    const Judgement judgement = judge(got, want, contract, {});
    EXPECT_EQ(judgement.verdict, allowed > 0.005 ? Verdict::pass : Verdict::fail) << allowed;
  }
}

TEST(Aggregates, SeeWhatNoElementShows) {
  const Judgement healthy = Field([](auto, auto, double noise) { return noise; }).judgement();
  EXPECT_EQ(healthy.verdict, Verdict::pass);
  EXPECT_LT(healthy.worst_aggregate, 5);
  EXPECT_GT(healthy.worst_aggregate, 1);

  const Judgement row =
      Field([](auto r, auto, double noise) { return noise + (r == 9 ? 2 : 0); }).judgement();
  EXPECT_EQ(row.verdict, Verdict::fail);
  ASSERT_FALSE(row.aggregates.empty());
  EXPECT_EQ(row.aggregates.front().scope, Scope::row);
  EXPECT_EQ(row.aggregates.front().index, 9);
  EXPECT_EQ(row.aggregates.front().kind, FindingKind::bias);
  EXPECT_EQ(row.location.pattern, "row 9 (as an aggregate)");
  EXPECT_EQ(row.statistics.outside_spread, 0);

  const Judgement tile = Field([](auto r, auto c, double noise) {
                           return (r / 16 == 1 && c / 16 == 2 ? 2.1 : 1) * noise;
                         }).judgement();
  ASSERT_FALSE(tile.aggregates.empty());
  EXPECT_EQ(tile.location.pattern, "tile at (16, 32) (as an aggregate)");
  EXPECT_EQ(tile.aggregates.front().kind, FindingKind::spread);
}

TEST(Aggregates, CopiesOfOneComputationCountOnce) {
  // All rows equal, as for repeated tokens: each column holds one error 64 times over, 64 / sqrt(64 x 2)
  // sigma too many for independent elements.
  const Field copies([](auto, auto, double noise) { return noise; }, true);
  const Measurement m = measure(copies.got, copies.want, copies.contract);
  double raw = 0;
  for (const ScopeSums& column : m.columns) raw = std::max(raw, deviate(column, FindingKind::bias));
  EXPECT_GT(raw, aggregate_threshold);
  EXPECT_EQ(copies.judgement().verdict, Verdict::pass);
}

// Equal rows of weights: every output holds the same sum, with the same error, under a bias of its own.
TEST(Aggregates, SumsOfTheSameProductsCountOnce) {
  constexpr std::int64_t rows = 3, cols = 66, terms = 33;
  const auto random = [](Shape shape, std::uint64_t seed, Fill fill) {
    Tensor t = Tensor::create(DType::f32, shape).value();
    fill_tensor(t, {.fill = fill, .seed = seed, .store = DType::f32});
    return t;
  };
  ArithmeticModel model;
  model.accumulation.reset();
  const auto tracked = make_tracked_arithmetic(model);
  const Value bias = tracked->load(random({cols}, 3, Fill::normal));
  const auto summed = [&](const Tensor& x, const Tensor& w) {
    return tracked->add(tracked->matmul(tracked->load(x), false, tracked->load(w), true), bias);
  };
  const Tensor x = random({rows, terms}, 1, Fill::rows_equal);
  const Value want = summed(x, random({cols, terms}, 2, Fill::rows_equal));
  ASSERT_EQ(want.row_kin.size(), 3U);
  ASSERT_EQ(want.col_kin.size(), 66U);
  EXPECT_TRUE(std::ranges::all_of(want.col_kin, [&](auto kin) { return kin == want.col_kin[0]; }));
  Contract contract{.store = DType::f64, .order_known = false};
  Tensor got = Tensor::create(DType::f64, {rows, cols}).value();
  // The same error in every element: one sum's luck, or a fault where the sums are not the same.
  const auto verdict = [&](const Value& expected) {
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      got.set_value(i, expected.v[at] + 12 * std::sqrt(expected.variance[at]));
    }
    return judge(got, expected, contract, {}).verdict;
  };
  EXPECT_EQ(verdict(want), Verdict::pass);
  const Value distinct =
      summed(random({rows, terms}, 1, Fill::normal), random({cols, terms}, 2, Fill::normal));
  EXPECT_TRUE(distinct.row_kin.empty());
  EXPECT_EQ(verdict(distinct), Verdict::fail);
}

TEST(Aggregates, StructuredStoreResidualsAreExpected) {
  // Integers plus 0.3 stored to bf16, whose spacing is 1 there: every element is 0.3 off in the same
  // direction.
  Value want;
  want.rows = want.cols = 64;
  Tensor got = Tensor::create(DType::bf16, {64, 64}).value();
  for (std::int64_t i = 0; i < 64 * 64; ++i) {
    const double v = 128 + static_cast<double>((i * 37) % 120) + 0.3 + 1e-5 * static_cast<double>(i);
    want.v.push_back(v);
    want.hard.push_back(1e-3);
    want.variance.push_back(1e-10);
    got.set_value(i, v);
  }
  Contract contract{.store = DType::bf16, .order_known = true};
  EXPECT_EQ(judge(got, want, contract, {}).verdict, Verdict::pass);
  // Stored with truncation under a contract that does not know the mode: allowed.
  contract.store_rounding_known = false;
  EXPECT_EQ(judge(got, want, contract, {}).verdict, Verdict::pass);
}

/// 1.75 (1 - k 2^-24) with k mod 8 in {1, 2, 3} is always rounded the same way: saturated values times one
/// number.
TEST(Aggregates, NearlyEqualElementsCountOnce) {
  ArithmeticModel model;
  model.accumulation = Accumulation{};
  const auto emulated = *make_emulated_arithmetic(model);
  const auto tracked = make_tracked_arithmetic(model);
  Tensor left = *Tensor::create(DType::f32, {1, 1}), right = *Tensor::create(DType::f32, {1, 512});
  left.set_value(0, 1.75);
  for (std::int64_t i = 0; i < 512; ++i)
    right.set_value(i, (i % 2 == 0 ? 1 : -1) * (1 - static_cast<double>(8 * (i / 4) + 1 + i % 3) * 0x1p-24));
  const Value got = emulated->matmul(emulated->load(left), false, emulated->load(right), false);
  const Value want = tracked->matmul(tracked->load(left), false, tracked->load(right), false);
  Tensor result = *Tensor::create(DType::f32, {1, 512});
  for (std::int64_t i = 0; i < 512; ++i) result.set_value(i, got.v[static_cast<std::size_t>(i)]);
  Contract contract;
  contract.order_known = true;
  contract.store_rounds = false;
  EXPECT_EQ(judge(result, want, contract, {}).verdict, Verdict::pass);
}

}  // namespace
}  // namespace parity
