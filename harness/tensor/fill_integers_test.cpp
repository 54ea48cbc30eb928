// Fill::integer, which keeps every sum exact in any format, and the fills of int8.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/tensor/fill_testing.hpp"

namespace parity {
namespace {

TEST(IntegerFillTest, EverySumIsExactForCertain) {
  for (const DType accumulate : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32}) {
    for (const DType store : {DType::f32, DType::f16, DType::bf16}) {
      for (const std::int64_t k : {1, 2, 7, 63, 588, 4096, 1 << 20, 1 << 26}) {
        const IntegerFill fill = integer_fill(k, accumulate, store, DType::f16);
        const double limit =
            std::ldexp(1.0, std::min(format_of(accumulate).precision, format_of(store).precision) - 1);
        const double worst =
            static_cast<double>(fill.nonzeros) * fill.magnitude * fill.magnitude + fill.magnitude;
        EXPECT_LE(worst, limit);
        EXPECT_GE(fill.nonzeros, std::min<std::int64_t>(k, 16));
        EXPECT_LE(fill.nonzeros, k);
        EXPECT_GE(fill.magnitude, 2);
        EXPECT_DOUBLE_EQ(fill.density, static_cast<double>(fill.nonzeros) / static_cast<double>(k));
      }
    }
  }
  EXPECT_EQ(integer_fill(4096, DType::f32, DType::f16, DType::f16).magnitude, 4);
  EXPECT_EQ(integer_fill(4096, DType::f32, DType::f32, DType::f16).density, 1.0);
}

TEST(IntegerFillTest, RowsHoldTheirNonzerosAndResultsAreNotTrivial) {
  for (const DType store : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t k : {1, 5, 63, 64, 65, 588, 1000}) {
      const Problem problem(Fill::integer, DType::bf16, DType::f32, store, 40, 9, k);
      const IntegerFill fill = integer_fill(k, DType::f32, store, DType::bf16);
      const double limit = std::ldexp(1.0, format_of(store).precision - 1);
      std::int64_t zeros = 0;
      for (std::int64_t i = 0; i < 40; ++i) {
        std::int64_t nonzeros = 0;
        for (std::int64_t j = 0; j < k; ++j) {
          const double x = problem.left.value(i * k + j);
          nonzeros += x != 0.0 ? 1 : 0;
          EXPECT_EQ(x, std::nearbyint(x));
          EXPECT_LE(std::fabs(x), fill.magnitude);
        }
        EXPECT_EQ(nonzeros, fill.nonzeros) << "K=" << k;
        for (std::int64_t j = 0; j < 9; ++j) {
          for (const double sum : problem.partial_sums(i, j)) {
            ASSERT_LE(std::fabs(sum) + std::fabs(problem.addend.value(i * 9 + j)), limit);
          }
          if (problem.partial_sums(i, j).back() == 0.0) ++zeros;
        }
      }
      EXPECT_LT(zeros, 40 * 9 / 4) << "K=" << k << " " << name_of(store);
    }
  }
}

TEST(IntegerFillTest, PositionsSpreadOverTheWholeReduction) {
  const Problem problem(Fill::integer, DType::f16, DType::f32, DType::bf16, 400, 1, 588);
  std::vector<int> hits(588, 0);
  for (std::int64_t i = 0; i < 400 * 588; ++i)
    hits[static_cast<std::size_t>(i % 588)] += problem.left.value(i) != 0.0 ? 1 : 0;
  EXPECT_GT(*std::min_element(hits.begin(), hits.end()), 0);  // about 21 each
  EXPECT_LT(*std::max_element(hits.begin(), hits.end()), 50);
}

TEST(IntegerFillTest, Int8UsesItsRange) {
  const auto range = [](Fill fill, FillRole role = FillRole::left) {
    const auto values = filled(fill, 1, 0, DType::i8, role);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return std::pair(*least, *most);
  };
  using Range = std::pair<double, double>;
  EXPECT_EQ(range(Fill::normal), Range(-128, 127));
  EXPECT_EQ(range(Fill::uniform), Range(-128, 127));
  EXPECT_EQ(range(Fill::saturated), Range(-128, 127));
  EXPECT_EQ(range(Fill::overflow), Range(-128, 127));
  EXPECT_EQ(range(Fill::positive), Range(1, 127));
  EXPECT_EQ(range(Fill::integer), Range(-4, 4));
  EXPECT_EQ(range(Fill::selector), Range(-128, 127));
  EXPECT_EQ(range(Fill::selector, FillRole::right), Range(0, 1));
  std::set<double> ends;
  for (const double x : filled(Fill::saturated, 1, 0, DType::i8)) ends.insert(x);
  EXPECT_EQ(ends, (std::set<double>{-128, 127}));
  const auto uniform = filled(Fill::uniform, 1, 0, DType::i8);
  EXPECT_NEAR(mean_of(uniform), -0.5, 1.0);  // standard error 0.23
  for (const Fill fill : all_fills) {
    EXPECT_TRUE(suits(fill, DType::f16));
    EXPECT_EQ(suits(fill, DType::i8),
              fill != Fill::wide && fill != Fill::subnormal && fill != Fill::nan_cone);
  }
}

TEST(IntegerFillTest, Int8SumsLeave32BitsWhereTheyShould) {
  constexpr std::int64_t k = 180000;
  const Problem beyond(Fill::overflow, DType::i8, DType::i32, DType::i32, 1, 2, k);
  for (const double sum : beyond.results()) {
    EXPECT_GT(std::fabs(sum), 0x1p31);
    EXPECT_LT(std::fabs(sum), 0x1p32);
  }
  Tensor addend = *Tensor::create(DType::i32, {1000});
  fill_tensor(addend, {Fill::overflow, FillRole::addend, 1, 2, -1, 48, DType::i32, DType::i32, false});
  std::int64_t above = 0;
  for (const double x : to_doubles(addend)) {
    EXPECT_GE(std::fabs(x), 0x1p31 - 0x1p20);
    above += x > 0;
  }
  EXPECT_NEAR(static_cast<double>(above), 500, 100);
  const Problem cancelling(Fill::cancelling, DType::i8, DType::i32, DType::i32, 2, 2, 1000);
  for (const double sum : cancelling.results()) EXPECT_LT(std::fabs(sum), 12000);  // 4 sigma of the remainder
}

}  // namespace
}  // namespace parity
