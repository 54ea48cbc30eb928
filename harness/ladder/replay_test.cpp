#include "harness/ladder/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace parity {
namespace {

TEST(ReplaySample, SmallResultsAreReplayedWhole) {
  EXPECT_TRUE(choose_sample({64, 64}, 4096, 1).all());
  EXPECT_FALSE(choose_sample({64, 65}, 4096, 1).all());
}

TEST(ReplaySample, LargeOnesHoldEndsTileBordersAndTails) {
  const ReplaySample sample = choose_sample({1000, 4096}, 1 << 16, 7);
  EXPECT_LE(sample.rows.size() * sample.cols.size(), std::size_t{1} << 16);
  EXPECT_GE(sample.rows.size() * sample.cols.size(), std::size_t{1} << 15);
  for (const std::int64_t row : {0, 999, 15, 16, 63, 64, 127, 128, 896, 960, 992})
    EXPECT_TRUE(std::ranges::binary_search(sample.rows, row)) << row;
  for (const std::int64_t col : {0, 4095}) EXPECT_TRUE(std::ranges::binary_search(sample.cols, col)) << col;
  EXPECT_LT(sample.rows.back(), 1000);
  EXPECT_LT(sample.cols.back(), 4096);
  EXPECT_TRUE(std::ranges::is_sorted(sample.rows));
}

TEST(ReplaySample, SameSeedSameSample) {
  EXPECT_EQ(choose_sample({1000, 1000}, 4096, 3).rows, choose_sample({1000, 1000}, 4096, 3).rows);
  EXPECT_NE(choose_sample({1000, 1000}, 4096, 3).rows, choose_sample({1000, 1000}, 4096, 4).rows);
}

TEST(ReplaySample, ManySmallMatricesKeepAtLeastOneElementEach) {
  const ReplaySample sample = choose_sample({100000, 3, 3}, 4096, 1);
  EXPECT_EQ(sample.rows.size(), 1u);
  EXPECT_EQ(sample.cols.size(), 1u);
}

TEST(ReplayCost, FollowsTheMeasuredRates) {
  ArithmeticModel model;
  model.accumulation = Accumulation{};
  const auto cubes = [&](double n) { return replay_cost(model, n * n * n) <= most_replay_operations; };
  EXPECT_TRUE(cubes(8192));
  EXPECT_FALSE(cubes(16384));
  model.accumulation->multiply_add = MultiplyAdd::multi_term;
  EXPECT_FALSE(cubes(4096));  // fp32 factors do not fit the lanes
  model.precision.multiply = format_of(DType::f16);
  EXPECT_TRUE(cubes(8192));
  model.accumulation->multiply_add = MultiplyAdd::fused;
  model.precision.accumulate = DType::f16;
  EXPECT_TRUE(cubes(2048));
  EXPECT_FALSE(cubes(4096));
}

}  // namespace
}  // namespace parity
