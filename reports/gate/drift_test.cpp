#include "reports/gate/drift.hpp"

#include <gtest/gtest.h>

#include "harness/base/sanitized.hpp"
#include "reports/gate/gate_testing.hpp"

namespace parity {
namespace {

BaselineOutput kept(std::uint64_t seed, std::int64_t elements, double spread, double mean = 0) {
  Record record = gate_testing::record_of("c", "p", gate_testing::result_with(seed, elements, spread, mean));
  return baseline_case(record).outputs.front();
}

// Two samples of one distribution differ by chance as often as the test says, and never beyond a gate's
// limit.
TEST(Drift, ChanceIsWhatItSays) {
  constexpr std::uint64_t pairs = address_sanitized ? 100 : 1000;
  for (const std::int64_t elements : {12, 300, 4096}) {
    std::int64_t moved = 0;
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
      const BaselineOutput a = kept(2 * pair + 1, elements, 3), b = kept(2 * pair + 2, elements, 3);
      moved += static_cast<std::int64_t>(find_drift(a, b, {0.05, 1.0}).size());
      EXPECT_TRUE(find_drift(a, b, {}).empty()) << pair;
    }
    // Two tests of a twentieth each: a tenth of the pairs; G is a little eager with few elements.
    EXPECT_LT(moved, static_cast<std::int64_t>(pairs) / 5) << elements;
    if (elements > 100) {
      EXPECT_GT(moved, static_cast<std::int64_t>(pairs) / 30) << elements;
    }
  }
}

TEST(Drift, LargerErrorsAndAMovedMeanAreSeen) {
  const BaselineOutput before = kept(1, 4096, 3);
  const auto grown = find_drift(before, kept(2, 4096, 4.5), {});
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_EQ(grown[0].statistic, "errors");
  EXPECT_NE(grown[0].text.find("1.5"), std::string::npos) << grown[0].text;
  EXPECT_EQ(find_drift(before, kept(2, 4096, 2), {}).size(), 1u);
  const auto moved = find_drift(before, kept(2, 4096, 3, 0.6), {});
  ASSERT_FALSE(moved.empty());
  EXPECT_EQ(moved.back().statistic, "mean error");
  // Significant, and too small to care for.
  EXPECT_TRUE(find_drift(kept(1, 1000000, 3), kept(2, 1000000, 3.1), {}).empty());
}

TEST(Drift, ExactOrNotIsNoMatterOfChance) {
  EXPECT_EQ(find_drift(kept(1, 4, 0), kept(2, 4, 1), {}).at(0).chance, 0);
  EXPECT_EQ(find_drift(kept(1, 4, 1), kept(2, 4, 0), {}).at(0).chance, 0);
  EXPECT_TRUE(find_drift(kept(1, 4, 0), kept(2, 4, 0), {}).empty());
  // Where bits change from run to run a few elements are exact by luck, many are not.
  DriftLimits varying;
  varying.bits_vary = true;
  EXPECT_TRUE(find_drift(kept(1, 4, 1), kept(2, 4, 0), varying).empty());
  EXPECT_FALSE(find_drift(kept(1, 400, 1), kept(2, 400, 0), varying).empty());
}

TEST(Drift, AFewElementsSayNothing) {
  EXPECT_TRUE(find_drift(kept(1, 4, 1), kept(2, 4, 2), {}).empty());
}

}  // namespace
}  // namespace parity
