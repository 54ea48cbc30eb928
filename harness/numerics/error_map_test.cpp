#include "harness/numerics/error_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/numerics/judge_testing.hpp"

namespace parity {
namespace {

using namespace judge_testing;

TEST(ErrorMap, ATileFaultShowsAsATile) {
  Problem p;
  p.m = p.n = 128;
  Healthy h = healthy(p);
  for (std::int64_t row = 16; row < 32; ++row)
    for (std::int64_t column = 32; column < 48; ++column) h.got.set_value(row * 128 + column, 1000);
  const ErrorMap map = map_errors(h.got, h.want, h.contract);
  ASSERT_EQ(map.rows, 32);
  ASSERT_EQ(map.cell_columns, 4);
  for (std::int64_t row = 0; row < 32; ++row)
    for (std::int64_t column = 0; column < 32; ++column) {
      const bool in_tile = row >= 4 && row < 8 && column >= 8 && column < 12;
      EXPECT_EQ(map.ratios[static_cast<std::size_t>(row * 32 + column)] > 1, in_tile) << row << " " << column;
    }
}

TEST(ErrorMap, HoldsTheWorstOfEachCellAsThePassOverAllDoes) {
  Problem p;
  p.m = 70;
  p.n = 5;
  Healthy h = healthy(p);
  ErrorMap map = map_errors(h.got, h.want, h.contract);
  EXPECT_EQ(map.rows, 24);  // of three rows, the last of one
  EXPECT_EQ(map.columns, 5);
  const double worst = h.judgement().statistics.max_bound_ratio;
  EXPECT_NEAR(*std::max_element(map.ratios.begin(), map.ratios.end()), worst, 0.01 * worst);
  EXPECT_GT(*std::min_element(map.ratios.begin(), map.ratios.end()), 0);

  h.got.set_value(69 * 5 + 2, std::numeric_limits<double>::quiet_NaN());
  map = map_errors(h.got, h.want, h.contract);
  EXPECT_TRUE(std::isinf(map.ratios[23 * 5 + 2]));
  EXPECT_EQ(std::count_if(map.ratios.begin(), map.ratios.end(), [](double r) { return r > 1; }), 1);
}

TEST(ErrorMap, IsKeptOfWhatFailsOnly) {
  Healthy h = healthy({});
  Judgement judgement = h.judgement();
  add_pictures(judgement, h.got, h.want, h.contract);
  EXPECT_FALSE(judgement.map);
  EXPECT_EQ(judgement.predicted_ulp.size(), 49U);
  h.got.set_value(0, 1e4);
  judgement = h.judgement();
  add_pictures(judgement, h.got, h.want, h.contract);
  ASSERT_TRUE(judgement.map);
  EXPECT_GT(judgement.map->ratios.front(), 1);
}

TEST(PredictedHistogram, IsCloseToWhatAHealthyResultHas) {
  for (const DType store : {DType::f16, DType::f32}) {
    Problem p;
    p.m = p.n = 128;
    p.k = 1024;
    p.store = store;
    const Healthy h = healthy(p);
    const auto predicted = predicted_ulp_histogram(h.want, h.contract);
    ASSERT_EQ(predicted.size(), 49U);
    EXPECT_NEAR(std::accumulate(predicted.begin(), predicted.end(), 0.0), 128 * 128, 40);
    const auto seen = h.judgement().statistics.ulp_histogram;
    double apart = 0, shifted = 0;
    for (std::size_t i = 0; i < 49; ++i) {
      apart += std::fabs(predicted[i] - static_cast<double>(seen[i]));
      shifted += std::fabs(predicted[i] - static_cast<double>(i > 0 ? seen[i - 1] : 0));
    }
    EXPECT_LT(apart / (2 * 128 * 128), 0.15) << name_of(store);
    EXPECT_GT(shifted / (2 * 128 * 128), 0.15) << name_of(store);  // twice the errors would be seen
  }
}

TEST(PredictedHistogram, ExactContractsPredictNothing) {
  const Healthy h = healthy({});
  Contract exact = h.contract;
  exact.exact = true;
  EXPECT_TRUE(predicted_ulp_histogram(h.want, exact).empty());
}

}  // namespace
}  // namespace parity
