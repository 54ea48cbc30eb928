#include "harness/numerics/order_effects.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/numerics/judge_testing.hpp"

namespace parity {
namespace {

using namespace judge_testing;

Tensor vector_of(std::vector<double> values) {
  Tensor t = Tensor::create(DType::f32, {1, static_cast<std::int64_t>(values.size())}).value();
  for (std::size_t i = 0; i < values.size(); ++i) t.set_value(static_cast<std::int64_t>(i), values[i]);
  return t;
}

TEST(OrderEffects, CountsAndSpreads) {
  const double ulp = 0x1p-23, nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a = vector_of({1, 1, 1, nan, nan}), b = vector_of({1, 1 + 3 * ulp, 1, nan, 2});
  const Tensor c = vector_of({1, 1 - ulp, 1, nan, 2});
  const OrderSpread same = order_spread({&a, &a}, nullptr, {}).value();
  EXPECT_TRUE(same.bit_equal);
  EXPECT_EQ(same.first_differing, -1);
  const OrderSpread s = order_spread({&a, &b, &c}, nullptr, {}).value();
  EXPECT_FALSE(s.bit_equal);
  EXPECT_EQ(s.differing, 2);
  EXPECT_EQ(s.first_differing, 1);
  EXPECT_EQ(s.nonfinite_differing, 1);
  EXPECT_DOUBLE_EQ(s.max_range_ulp, 4);
  EXPECT_DOUBLE_EQ(s.rms_range_ulp, std::sqrt(16.0 / 3));
  // 0, 3, -1 ulp: variance 26/6; over three finite elements.
  EXPECT_DOUBLE_EQ(s.rms_deviation_ulp, std::sqrt(26.0 / 6 / 3));
}

TEST(OrderEffects, MistakesAreErrors) {
  const Tensor a = vector_of({1, 2}), b = vector_of({1, 2, 3});
  EXPECT_FALSE(order_spread({&a}, nullptr, {}).has_value());
  EXPECT_FALSE(order_spread({&a, &b}, nullptr, {}).has_value());
  const Value nothing;
  EXPECT_FALSE(order_spread({&a, &a}, &nothing, {}).has_value());
}

TEST(OrderEffects, PermutedSumsSpreadAsPredicted) {
  Problem p;
  p.m = p.n = 32, p.k = 512, p.input = p.store = DType::f32;
  p.order_known = false;
  std::vector<Tensor> results;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    p.accumulation.order = {SummationOrder::Kind::permuted, 0, seed};
    results.push_back(run(p, inputs_of(p)));
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : results) pointers.push_back(&t);
  const Value want = reference(p, inputs_of(p));
  const OrderSpread s = order_spread(pointers, &want, contract_of(p)).value();
  EXPECT_FALSE(s.bit_equal);
  EXPECT_EQ(s.predicted_elements, 32 * 32);
  EXPECT_GT(s.rms_deviation_sigma, 0.5);
  EXPECT_LT(s.rms_deviation_sigma, 2);
}

}  // namespace
}  // namespace parity
