#include "harness/base/text.hpp"

#include <gtest/gtest.h>

namespace parity {
namespace {

TEST(Text, PatternsFitTheWholeText) {
  EXPECT_TRUE(fits_pattern("gemm m=1 n=2", "gemm*"));
  EXPECT_TRUE(fits_pattern("gemm m=1 n=2", "*m=? n*"));
  EXPECT_TRUE(fits_pattern("gemm m=1 n=2", "*m=1*n=2"));
  EXPECT_TRUE(fits_pattern("", ""));
  EXPECT_TRUE(fits_pattern("", "**"));
  EXPECT_FALSE(fits_pattern("gemm", "gem"));
  EXPECT_FALSE(fits_pattern("gemm", "gemm?"));
  EXPECT_FALSE(fits_pattern("gemm m=1", "*m=2"));
  EXPECT_FALSE(fits_pattern("a[1]", "a[1"));
  EXPECT_TRUE(fits_pattern("a[1]", "a[1]"));  // a bracket stands for itself
  EXPECT_TRUE(fits_pattern("aab", "*ab"));    // the star has to try again
}

TEST(Text, WordsAreFoundWithoutRegardToCase) {
  EXPECT_TRUE(contains_word("NVIDIA H200", "h200"));
  EXPECT_FALSE(contains_word("NVIDIA H200", "h100"));
  EXPECT_TRUE(contains_word("", ""));
}

}  // namespace
}  // namespace parity
