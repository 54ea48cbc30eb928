#include "harness/tensor/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace parity {
namespace {

std::array<std::uint32_t, 4> words(PhiloxBlock block) {
  return {block.word[0], block.word[1], block.word[2], block.word[3]};
}

TEST(PhiloxTest, PublishedVectors) {
  // Random123, tests/kat_vectors, "philox4x32 10": counter (4 words, low first), key (2 words).
  EXPECT_EQ(words(philox(0, 0, 0)),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(words(philox(ones, ones, ones)),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(philox(0x299f31d0a4093822U, 0x85a308d3243f6a88U, 0x0370734413198a2eU)),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, UniformStaysInside) {
  EXPECT_EQ(uniform_open(0, 0), 0x1p-53);
  EXPECT_EQ(uniform_open(~0U, ~0U), 1.0 - 0x1p-53);
  EXPECT_EQ(below(7, 0, 0), 0U);
  EXPECT_EQ(below(7, ~0U, ~0U), 6U);
  EXPECT_EQ(below(1, ~0U, ~0U), 0U);
}

TEST(RandomTest, QuantileInvertsTheNormalDistribution) {
  for (double p = 0x1p-53; p < 1.0; p = p < 1e-3 ? p * 1.37 : p + 7.3e-4) {
    const double x = normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)) / p, 1.0, 4e-14 * std::max(1.0, x * x)) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_EQ(normal_quantile(0.25), -normal_quantile(0.75));
  EXPECT_NEAR(normal_quantile(1.0 - 0x1p-53), 8.2095, 1e-3);
}

TEST(RandomTest, PermuteIsAPermutation) {
  for (const std::uint64_t n : {1U, 2U, 3U, 16U, 17U, 588U, 1000U}) {
    for (const std::uint64_t tweak : {0U, 1U, 77U}) {
      std::vector<int> hit(n, 0);
      std::uint64_t fixed = 0;
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t to = permute(i, n, 42, tweak);
        ASSERT_LT(to, n);
        ++hit[to];
        fixed += to == i ? 1 : 0;
      }
      for (const int count : hit) EXPECT_EQ(count, 1);
      if (n > 100) {
        EXPECT_LT(fixed, 12U);  // one is expected of a random permutation
      }
    }
  }
  EXPECT_NE(permute(3, 1000, 1, 0), permute(3, 1000, 2, 0));
}

}  // namespace
}  // namespace parity
