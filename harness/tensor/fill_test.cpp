#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/tensor/fill_testing.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

TEST(FillTest, NamesRoundTrip) {
  for (const Fill fill : all_fills) EXPECT_EQ(parse_fill(name_of(fill)), fill);
  EXPECT_EQ(parse_fill("nosuch"), std::nullopt);
}

TEST(FillTest, MomentsOfTheRandomFills) {
  // 100000 values: the standard error of the mean is 0.0032, of the mean square 0.0045 for a normal.
  const auto normal = filled(Fill::normal);
  EXPECT_NEAR(mean_of(normal), 0.0, 0.015);
  EXPECT_NEAR(mean_square(normal), 1.0, 0.025);
  const auto tails = std::count_if(normal.begin(), normal.end(), [](double x) { return std::fabs(x) > 3.0; });
  EXPECT_NEAR(static_cast<double>(tails), 270.0, 90.0);
  const auto uniform = filled(Fill::uniform);
  EXPECT_NEAR(mean_of(uniform), 0.0, 0.01);
  EXPECT_NEAR(mean_square(uniform), 1.0 / 3.0, 0.005);
  EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 1.0);
  EXPECT_GT(*std::min_element(uniform.begin(), uniform.end()), -1.0);
  const auto positive = filled(Fill::positive);
  EXPECT_GT(*std::min_element(positive.begin(), positive.end()), 0.0);
  EXPECT_NEAR(mean_of(positive), std::sqrt(2.0 / M_PI), 0.01);
}

TEST(FillTest, SeedsAndStreamsAreIndependent) {
  const auto base = filled(Fill::normal, 1, 0);
  for (const auto& other :
       {filled(Fill::normal, 2, 0), filled(Fill::normal, 1, 1), filled(Fill::normal, 1ULL << 40, 0)}) {
    double correlation = 0.0;
    for (std::size_t i = 0; i < base.size(); ++i) correlation += base[i] * other[i];
    EXPECT_NEAR(correlation / static_cast<double>(base.size()), 0.0, 0.016);
  }
  EXPECT_EQ(base, filled(Fill::normal, 1, 0));
}

TEST(FillTest, StridesDoNotMatterAndPadsAreGuarded) {
  for (const Fill fill : all_fills) {
    for (const DType dtype : {DType::f32, DType::f16, DType::i32, DType::i8}) {
      for (const FillRole role : {FillRole::left, FillRole::right, FillRole::addend}) {
        const FillRequest request{fill, role,       5,          3,   role == FillRole::addend ? -1 : 1,
                                  90,   DType::f32, DType::f16, true};
        Tensor dense = *Tensor::create(dtype, {3, 90, 70});
        Tensor padded = *Tensor::create(dtype, {3, 90, 70}, {7000, 77, 1});
        Tensor turned = *Tensor::create(dtype, {3, 90, 70}, {1, 3, 271});
        fill_tensor(dense, request);
        fill_tensor(padded, request);
        fill_tensor(turned, request);
        EXPECT_EQ(content_hash(dense), content_hash(padded)) << name_of(fill) << " " << name_of(dtype);
        EXPECT_EQ(content_hash(dense), content_hash(turned)) << name_of(fill) << " " << name_of(dtype);
        EXPECT_TRUE(damaged_pads(padded).empty());
      }
    }
  }
}

TEST(FillTest, OnlySubnormalHasSubnormals) {
  for (const Fill fill : all_fills) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      for (const FillRole role : {FillRole::left, FillRole::right, FillRole::addend}) {
        Tensor tensor = *Tensor::create(dtype, {40, 500});
        const int axis = role == FillRole::addend ? -1 : 1;
        fill_tensor(tensor, {fill, role, 1, 0, axis, 500, DType::f32, dtype, false});
        const double smallest = smallest_normal(format_of(dtype));
        std::int64_t subnormal = 0;
        for (const double x : to_doubles(tensor)) subnormal += x != 0.0 && std::fabs(x) < smallest ? 1 : 0;
        if (fill == Fill::subnormal) {
          EXPECT_GT(subnormal, role == FillRole::right ? 1000 : 10000) << name_of(dtype);
        } else {
          EXPECT_EQ(subnormal, 0) << name_of(fill) << " " << name_of(dtype);
        }
      }
    }
  }
}

TEST(SelectorFillTest, OutputIsACopyThatReachesEveryPosition) {
  for (const bool right_transposed : {false, true}) {
    for (const auto& [k, n] : {std::pair<std::int64_t, std::int64_t>{17, 40}, {40, 17}, {1, 3}, {588, 600}}) {
      const Shape shape = right_transposed ? Shape{2, n, k} : Shape{2, k, n};
      Tensor right = *Tensor::create(DType::f16, shape);
      fill_tensor(right, {Fill::selector, FillRole::right, 9, 1, right_transposed ? 2 : 1, k, DType::f32,
                          DType::f16, false});
      for (std::int64_t b = 0; b < 2; ++b) {
        std::set<std::int64_t> hit;
        for (std::int64_t j = 0; j < n; ++j) {
          std::int64_t ones = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            const double x = right.value(b * k * n + (right_transposed ? j * k + i : i * n + j));
            EXPECT_TRUE(x == 0.0 || x == 1.0);
            if (x != 1.0) continue;
            ++ones;
            hit.insert(i);
          }
          EXPECT_EQ(ones, 1);
        }
        EXPECT_EQ(static_cast<std::int64_t>(hit.size()), std::min(k, n));
      }
    }
  }
  const Problem problem(Fill::selector, DType::f16, DType::f32, DType::f16, 5, 6, 7);
  for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(problem.addend.bits(i), 0U);
  std::set<double> left;
  for (std::int64_t i = 0; i < 35; ++i) left.insert(problem.left.value(i));
  for (const double y : problem.results()) EXPECT_TRUE(left.contains(y));
}

TEST(CancellingFillTest, ResultsAreSmallButNotZero) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Problem problem(Fill::cancelling, dtype, DType::f32, DType::f32, 8, 8, 512);
    const double u = unit_roundoff(format_of(dtype));
    for (std::int64_t i = 0; i < 8; ++i) {
      for (std::int64_t j = 0; j < 8; ++j) {
        const auto sums = problem.partial_sums(i, j);
        double largest = 0.0;
        for (const double s : sums) largest = std::max(largest, std::fabs(s));
        EXPECT_GT(largest, 3.0);
        EXPECT_NE(sums.back(), 0.0);
        EXPECT_LT(std::fabs(sums.back()), 6.0 * 4.0 * u * std::sqrt(512.0)) << name_of(dtype);
      }
    }
  }
  // An odd reduction keeps its middle.
  const Problem odd(Fill::cancelling, DType::f64, DType::f64, DType::f64, 1, 1, 9);
  EXPECT_NEAR(odd.partial_sums(0, 0).back(), odd.left.value(4) * odd.right.value(4), 1e-13);
  EXPECT_EQ(odd.right.value(5), odd.right.value(0));
}

TEST(WideFillTest, ResultsStayInRange) {
  for (const DType input : {DType::f32, DType::f16, DType::bf16}) {
    for (const DType store : {DType::f32, DType::f16, DType::bf16}) {
      for (const std::int64_t k : {1, 588, 4096}) {
        const Problem problem(Fill::wide, input, DType::f32, store, 12, 12, k);
        const int range = wide_exponent(k, DType::f32, store, input);
        EXPECT_GE(range, store == DType::f16 || input == DType::f16 ? 3 : 20);
        double smallest = 1e300, largest = 0.0;
        for (std::int64_t i = 0; i < problem.left.elements(); ++i) {
          smallest = std::min(smallest, std::fabs(problem.left.value(i)));
          largest = std::max(largest, std::fabs(problem.left.value(i)));
        }
        if (k > 1) {
          EXPECT_GT(largest / smallest, std::ldexp(1.0, 2 * range));
        }
        for (std::int64_t i = 0; i < 144; ++i) {
          for (const double s : problem.partial_sums(i / 12, i % 12)) {
            ASSERT_LT(std::fabs(s), largest_finite(format_of(store)));
          }
        }
      }
    }
  }
}

TEST(OverflowFillTest, StraddlesTheStoreOrStaysFinite) {
  for (const std::int64_t k : {1, 7, 512}) {
    const Problem half(Fill::overflow, DType::f16, DType::f32, DType::f16, 30, 30, k);
    const auto results = half.results();
    const auto beyond =
        std::count_if(results.begin(), results.end(), [](double y) { return std::fabs(y) >= 65520.0; });
    EXPECT_GT(beyond, 150) << k;
    EXPECT_LT(beyond, 600) << k;
    for (const auto& [input, accumulate, store] : {std::tuple{DType::f32, DType::f32, DType::f32},
                                                   {DType::bf16, DType::f32, DType::bf16},
                                                   {DType::f16, DType::f16, DType::f16}}) {
      const Problem same(Fill::overflow, input, accumulate, store, 10, 10, k);
      const double largest = largest_finite(format_of(store));
      double reached = 0.0;
      for (std::int64_t i = 0; i < 100; ++i) {
        for (const double s : same.partial_sums(i / 10, i % 10)) {
          ASSERT_LT(std::fabs(s) + std::fabs(same.addend.value(i)), largest);
          reached = std::max(reached, std::fabs(s));
        }
      }
      EXPECT_GT(reached, largest / 16.0) << k << name_of(store);
    }
  }
}

TEST(SubnormalFillTest, ResultsLieAroundTheSmallestNormal) {
  for (const auto& [input, store] : {std::pair{DType::f32, DType::f32},
                                     {DType::f32, DType::f16},
                                     {DType::f16, DType::f16},
                                     {DType::bf16, DType::bf16}}) {
    const Problem problem(Fill::subnormal, input, DType::f32, store, 20, 20, 64);
    const double smallest = smallest_normal(format_of(store));
    const auto results = problem.results();
    const auto count = [&](auto&& wanted) { return std::count_if(results.begin(), results.end(), wanted); };
    EXPECT_GT(count([&](double y) { return y != 0.0 && std::fabs(y) < smallest; }), 20)
        << name_of(input) << name_of(store);
    EXPECT_GT(count([&](double y) { return std::fabs(y) >= smallest; }), 20)
        << name_of(input) << name_of(store);
  }
}

TEST(NanConeFillTest, ExactlyOneNanWhereAskedFor) {
  std::set<std::int64_t> places;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      Tensor tensor = *Tensor::create(dtype, {31, 17});
      FillRequest request{Fill::nan_cone, FillRole::left, seed, 0, 1, 17, DType::f32, DType::f32, true};
      fill_tensor(tensor, request);
      std::int64_t nans = 0;
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (!std::isnan(tensor.value(i))) continue;
        ++nans;
        places.insert(i);
        EXPECT_NE(tensor.bits(i), poison_bits(dtype, Poison::guard));
        EXPECT_NE(tensor.bits(i), poison_bits(dtype, Poison::unwritten));
      }
      EXPECT_EQ(nans, 1);
      request.holds_nan = false;
      fill_tensor(tensor, request);
      for (std::int64_t i = 0; i < tensor.elements(); ++i) EXPECT_FALSE(std::isnan(tensor.value(i)));
    }
  }
  EXPECT_GT(places.size(), 15U);
}

TEST(FillTest, DegenerateShapesAreFine) {
  for (const Fill fill : all_fills) {
    for (const auto& [shape, axis] : {std::pair<Shape, int>{{0, 4}, 1},
                                      {{4, 0}, 1},
                                      {{4, 0}, 0},
                                      {{1, 1}, 1},
                                      {{}, -1},
                                      {{5}, 0},
                                      {{5}, -1},
                                      {{5}, 7}}) {
      for (const FillRole role : {FillRole::left, FillRole::right, FillRole::addend}) {
        Tensor tensor = *Tensor::create(DType::f16, shape);
        fill_tensor(tensor, {fill, role, 1, 0, axis, 0, DType::f32, DType::f16, true});
        if (fill == Fill::nan_cone) continue;
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
          EXPECT_TRUE(std::isfinite(tensor.value(i))) << name_of(fill);
      }
    }
  }
}

/// The bits that every machine must produce.
struct StoredFill {
  Fill fill;
  std::uint64_t hash[std::size(all_dtypes)];  // in that order
};
constexpr StoredFill stored_fills[] = {
    {Fill::normal,
     {0x253ec3bf561577eaU, 0x5dafdd979c5d1c25U, 0x4bedbcc2ab89bb40U, 0x6989e3dd3e4c6de2U, 0xf88190b9749c2d46U,
      0x583422221f4450e9U}},
    {Fill::uniform,
     {0xd59642badd54c16U, 0x2c1cc03c59bf7d24U, 0x842596ff74d0bdbaU, 0xc80e2d1549b0a054U, 0xf88190b9749c2d46U,
      0xdea17481b54be091U}},
    {Fill::integer,
     {0x4f5195383d8d00faU, 0x9f29f6c8eec89d3eU, 0xfbf11d1baccba6feU, 0x387e7069c98677a3U, 0xf88190b9749c2d46U,
      0x3682ab8e36a5f588U}},
    {Fill::selector,
     {0x8ebd637a94dd1aacU, 0x647c17fd7d85cb56U, 0x7b4233eac7bdc32fU, 0x58d0df918957a06U, 0x352f420de4141be6U,
      0xf0b6c278fa96b1afU}},
    {Fill::positive,
     {0x8872a10b5f9b49c0U, 0xecc7c418150e71ecU, 0x63f3acae7825ed04U, 0x61a87b9f82446e1dU, 0x409a7f1ab0c28f25U,
      0x99d3bd5b696c83b0U}},
    {Fill::cancelling,
     {0xcb63db43aad2717fU, 0xf70b4930ac971aaaU, 0x742f50299acfdea7U, 0xe3a9fc158c401ab5U, 0xf88190b9749c2d46U,
      0x6e781c1f9eb826d7U}},
    {Fill::wide,
     {0x4c50139b3d4082c1U, 0x1447747a19b6ca97U, 0x18b80e6017b6e766U, 0x83a16f98fa9fd4f9U, 0xf88190b9749c2d46U,
      0x583422221f4450e9U}},
    {Fill::overflow,
     {0x4e1ad75fef46b497U, 0x2d5f0fc885bc3d03U, 0xf8cdf315ab49c742U, 0x5daac34d762d1716U, 0xf88190b9749c2d46U,
      0x8aeb596366ec3fffU}},
    {Fill::subnormal,
     {0xa6b2efad79cd787eU, 0xa0ec1e230100d88dU, 0x53b07a6bff832f4fU, 0x5f68daaad1360866U, 0xf88190b9749c2d46U,
      0x583422221f4450e9U}},
    {Fill::nan_cone,
     {0x40fc8bbb8c031440U, 0xc5d7154c88e8bd42U, 0xaea36b14d098d0d1U, 0x9fa8936355e50e07U, 0xf88190b9749c2d46U,
      0x583422221f4450e9U}},
    {Fill::saturated,
     {0x643116a3743fe998U, 0xbbd4a2b1d91a321cU, 0xcf99a3a6123b74f4U, 0xf1987a7e64f46aa3U, 0xf88190b9749c2d46U,
      0x370446bea72c17d3U}},
    {Fill::rows_equal,
     {0x51ad3e46809be120U, 0xbd6dc38d6bf0deaaU, 0xe80128bdbeef25e3U, 0x50141600e4a3b5b6U, 0xf88190b9749c2d46U,
      0xd432a2c00bb25089U}},
};

std::uint64_t fold(Fill fill, DType dtype) {
  const bool int8 = dtype == DType::i8;
  const Problem problem(fill, dtype, int8 ? DType::i32 : DType::f32, int8 ? DType::i32 : DType::f16, 9, 11,
                        35, 20261129);
  return content_hash(problem.left) ^ (content_hash(problem.right) * 3) ^ (content_hash(problem.addend) * 5);
}

TEST(FillTest, StoredHashes) {
  for (const StoredFill& stored : stored_fills) {
    for (std::size_t t = 0; t < std::size(all_dtypes); ++t) {
      EXPECT_EQ(fold(stored.fill, all_dtypes[t]), stored.hash[t])
          << name_of(stored.fill) << " " << name_of(all_dtypes[t])
          << fmt::format(" {:#x}", fold(stored.fill, all_dtypes[t]));
    }
  }
}

}  // namespace
}  // namespace parity
