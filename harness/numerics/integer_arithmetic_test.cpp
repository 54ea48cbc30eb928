// Products of integers: two kernels that share nothing against sums in int64, modulo 2^32.
#include <cmath>

#include "harness/numerics/arithmetic_testing.hpp"
#include "harness/numerics/integer_matmul.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

Tensor bytes(Shape shape, Fill fill, FillRole role, std::uint64_t seed) {
  Tensor tensor = *Tensor::create(DType::i8, std::move(shape));
  FillRequest request{fill, role, seed, role == FillRole::left ? 0U : 1U};
  request.reduction_axis = role == FillRole::left ? 1 : 0;
  request.accumulate = request.store = DType::i32;
  fill_tensor(tensor, request);
  return tensor;
}

std::int32_t sum_of(const Value& a, bool ta, const Value& b, bool tb, std::int64_t i, std::int64_t j) {
  const std::int64_t terms = ta ? a.rows : a.cols;
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < terms; ++k) {
    const double left = a.v[static_cast<std::size_t>(ta ? k * a.cols + i : i * a.cols + k)];
    const double right = b.v[static_cast<std::size_t>(tb ? j * b.cols + k : k * b.cols + j)];
    sum += static_cast<std::int64_t>(left) * static_cast<std::int64_t>(right);
  }
  return static_cast<std::int32_t>(sum);
}

TEST(IntegerArithmetic, BothKernelsGiveTheSumsOfEverySize) {
  const auto reference = make_integer_arithmetic(false), device = make_integer_arithmetic(true);
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {3, 5, 7}, {65, 6, 130}, {2, 67, 4100}, {4, 3, 0}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Value a = load_value(bytes(ta ? Shape{k, m} : Shape{m, k}, Fill::uniform, FillRole::left, 3));
        const Value b = load_value(bytes(tb ? Shape{n, k} : Shape{k, n}, Fill::uniform, FillRole::right, 4));
        const Value one = reference->matmul(a, ta, b, tb), two = device->matmul(a, ta, b, tb);
        ASSERT_EQ(one.v, two.v) << m << " " << n << " " << k << " " << ta << tb;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            ASSERT_EQ(one.v[static_cast<std::size_t>(i * n + j)], sum_of(a, ta, b, tb, i, j));
        EXPECT_FALSE(one.tracked() && one.size() > 0);
        EXPECT_TRUE(two.bits_known);
      }
    }
  }
}

TEST(IntegerArithmetic, SumsBeyond32BitsWrapAround) {
  constexpr std::int64_t k = 180'000;
  const Value a = load_value(bytes({1, k}, Fill::overflow, FillRole::left, 1));
  const Value b = load_value(bytes({k, 2}, Fill::overflow, FillRole::right, 1));
  const Value plain = make_exact_arithmetic()->matmul(a, false, b, false);
  const Value wrapped = make_integer_arithmetic(false)->matmul(a, false, b, false);
  for (std::size_t i = 0; i < plain.v.size(); ++i) {
    EXPECT_GT(std::fabs(plain.v[i]), 0x1p31);
    EXPECT_EQ(wrapped.v[i], plain.v[i] + (plain.v[i] > 0 ? -0x1p32 : 0x1p32));
  }
  EXPECT_EQ(make_integer_arithmetic(true)->matmul(a, false, b, false).v, wrapped.v);
}

TEST(IntegerArithmetic, WhatFollowsTheProductWrapsToo) {
  const auto arithmetic = make_integer_arithmetic(true);
  Value x = make_value(1, 1, 3), c = make_value(1, 1, 3);
  x.v = {2147483647, -2147483648.0, 5}, c.v = {1, -1, -7};
  EXPECT_EQ(arithmetic->scale_add(1, x, 1, &c).v, (std::vector<double>{-2147483648.0, 2147483647, -2}));
  EXPECT_EQ(arithmetic->mul(x, x).v, (std::vector<double>{1, 0, 25}));
  EXPECT_EQ(arithmetic->row_dot(x, nullptr).v, std::vector<double>{4});
  EXPECT_EQ(wrapped_i32(0x1p31), -0x1p31);
  EXPECT_EQ(wrapped_i32(-0x1p31 - 1), 0x1p31 - 1);
  EXPECT_EQ(wrapped_i32(std::nan("")), 0);
  EXPECT_EQ(wrapped_i32(1e300), 0);
}

TEST(IntegerArithmetic, OnlyInt8InInt32IsModelled) {
  ArithmeticModel model = integer_model();
  EXPECT_TRUE(make_emulated_arithmetic(model));
  EXPECT_EQ(to_string(model), "i8 -> i32 -> i32, modulo 2^32, exact in any order");
  model.precision.store = DType::f16;
  EXPECT_FALSE(make_emulated_arithmetic(model));
  model = integer_model();
  model.precision.input = DType::f16;
  EXPECT_FALSE(make_emulated_arithmetic(model));
}

}  // namespace
}  // namespace parity
