#include "harness/base/text.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/fnv1a.hpp"

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

TEST(Text, PartsStandBetweenMarks) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("a,b", ","), (Parts{"a", "b"}));
  EXPECT_EQ(split(",a,,b c;", ",;"), (Parts{"a", "b c"}));
  EXPECT_EQ(split("a", ","), (Parts{"a"}));
  EXPECT_EQ(split(",;", ",;"), Parts{});
  EXPECT_EQ(split("", ","), Parts{});
}

TEST(Text, WordsAndNumbersAreWhole) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \t\r\n"), "");
  std::string_view text = "  one  two three ";
  EXPECT_EQ(take_word(text), "one");
  EXPECT_EQ(take_word(text), "two");
  EXPECT_EQ(text, "three");
  EXPECT_EQ(take_word(text), "three");
  EXPECT_EQ(take_word(text), "");
  EXPECT_EQ(parse_number<int>("12"), 12);
  EXPECT_FALSE(parse_number<int>("12x"));
  EXPECT_FALSE(parse_number<int>(""));
  EXPECT_FALSE(parse_number<unsigned>("-1"));
  EXPECT_TRUE(std::isnan(*parse_number<double>("nan")));
}

TEST(Fnv1a, IsThePublishedOne) {
  Fnv1a hash;
  EXPECT_EQ(hash.value(), 0xcbf29ce484222325u);
  hash.add("foobar");
  EXPECT_EQ(hash.value(), 0x85944171f73967e8u);
  Fnv1a ab_c, a_bc;
  ab_c.add_field("ab"), ab_c.add_field("c");
  a_bc.add_field("a"), a_bc.add_field("bc");
  EXPECT_NE(ab_c.value(), a_bc.value());
}

}  // namespace
}  // namespace parity
