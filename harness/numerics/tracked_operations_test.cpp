// The tracked bounds of everything but sums: epilogues, functions, stores, special values, errors carried on.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/numerics/arithmetic_testing.hpp"
#include "harness/numerics/tracked_element.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity {
namespace {

using namespace parity::testing;

/// alpha x + beta y and a function, emulated and tracked.
TEST(Tracked, EpilogueAndFunctionsStayInTheBounds) {
  for (const bool contract : {false, true}) {
    for (const Function function : {Function::identity, Function::relu, Function::leaky_relu_squared,
                                    Function::sigmoid, Function::tanh, Function::exp}) {
      ArithmeticModel model = model_of(DType::f16, DType::f32, {});
      model.contract_epilogue = contract;
      model.precision.store = DType::f16;
      const Factors f = make_factors(DType::f16, Fill::normal, 9, 20, 24, 33);
      // Independent operands: errors of the same operand used twice would be correlated.
      const Tensor addend = make_factors(DType::f32, Fill::normal, 10, 20, 24, 24).a;
      const auto run = [&](Arithmetic& arithmetic) {
        const Value c = arithmetic.load(addend);
        const Value product = arithmetic.matmul(arithmetic.load(f.a), false, arithmetic.load(f.b), false);
        const Value scaled = arithmetic.scale_add(0.25 + 0x1p-20, product, 0.75, &c);
        const Value biased = arithmetic.add(
            scaled, arithmetic.load(tensor_of(DType::f32, {24}, std::vector<double>(24, 0.1))));
        return arithmetic.apply(function, arithmetic.mul(biased, c));
      };
      const Value got = run(**make_emulated_arithmetic(model));
      const Value want = run(*make_tracked_arithmetic(model));
      ASSERT_TRUE(want.tracked());
      EXPECT_EQ(got.bits_known, function == Function::identity || function == Function::relu ||
                                    function == Function::leaky_relu_squared);
      double sum = 0;
      for (std::size_t i = 0; i < got.v.size(); ++i) {
        if (!std::isfinite(got.v[i]) || !std::isfinite(want.v[i])) continue;
        const double error = std::fabs(got.v[i] - want.v[i]);
        EXPECT_LE(error, want.hard[i]) << name_of(function) << " " << want.v[i];
        const double sigma = std::sqrt(want.variance[i]);
        EXPECT_LE(error, 8 * sigma + want.systematic[i] + 0.1 * std::fabs(want.mean[i])) << name_of(function);
        sum += sigma > 0 ? std::pow(error / sigma, 2) : 0;
      }
      if (function == Function::identity) {
        EXPECT_NEAR(std::sqrt(sum / static_cast<double>(got.v.size())), 0.95, 0.15);
      }
    }
  }
}

/// 0.1 rounded to fp32 leaves errors that are not noise: their mean over many products is far from zero.
TEST(Tracked, ProductsWithOneNumberHaveAMean) {
  const ArithmeticModel model = model_of(DType::f32, DType::f32, {});
  const Tensor x = make_factors(DType::f32, Fill::positive, 3, 400, 1, 500).a;
  const auto emulated = *make_emulated_arithmetic(model);
  const auto tracked = make_tracked_arithmetic(model);
  for (const double factor : {static_cast<double>(0.1F), static_cast<double>(0.7F)}) {
    const Value got = emulated->scale_add(factor, emulated->load(x), 0, nullptr);
    const Value want = tracked->scale_add(factor, tracked->load(x), 0, nullptr);
    double error = 0, allowed = 0, square = 0;
    for (std::size_t i = 0; i < got.v.size(); ++i) {
      error += got.v[i] - want.v[i];
      square += (got.v[i] - want.v[i]) * (got.v[i] - want.v[i]);
      allowed += want.systematic[i];
    }
    if (factor < 0.5) {
      EXPECT_GT(std::fabs(error) / std::sqrt(square), 20) << "noise alone would stay below 6";
    }
    EXPECT_LE(std::fabs(error), allowed);
  }
}

TEST(Tracked, StoreJoinsTheHardBoundOnly) {
  ArithmeticModel model = model_of(DType::f32, DType::f32, {});
  const auto tracked = make_tracked_arithmetic(model);
  const Value x = tracked->load(tensor_of(DType::f32, {1, 3}, {3, 0x1p-30, 1}));
  const Value half = tracked->store(x, DType::f16);
  EXPECT_NEAR(half.hard[0], 3 * 0x1p-11, 1e-9);
  EXPECT_EQ(half.hard[1], 0x1p-25);
  EXPECT_EQ(half.variance[0], 0);
  EXPECT_EQ(half.v, x.v);
  EXPECT_EQ(tracked->store(x, DType::f32).hard[0], 0);
  model.store_rounding = Rounding::toward_zero;
  EXPECT_NEAR(make_tracked_arithmetic(model)->store(x, DType::f16).hard[0], 3 * 0x1p-10, 1e-9);
}

TEST(Tracked, MultiplyingByOneRoundsNothing) {
  const auto tracked = make_tracked_arithmetic(model_of(DType::f32, DType::f32, {}));
  const Value x = tracked->load(tensor_of(DType::f32, {1, 2}, {0.1, 3}));
  EXPECT_EQ(tracked->scale_add(1, x, 0, nullptr).hard[0], 0);
  EXPECT_GT(tracked->scale_add(0.3, x, 0, nullptr).hard[0], 0);
}

TEST(Tracked, NanAndInfinityCarryNoBound) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor a = tensor_of(DType::f32, {3, 2}, {inf, 1, std::nan(""), 1, 1, 1});
  const Tensor b = tensor_of(DType::f32, {2, 2}, {1, -1, 2, 3});
  const Value c = track(model_of(DType::f32, DType::f32, {}), a, b);
  EXPECT_EQ(c.v[0], inf);
  EXPECT_EQ(c.v[1], -inf);
  EXPECT_TRUE(std::isnan(c.v[2]) && std::isnan(c.v[3]));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(c.hard[i] + c.variance[i] + c.systematic[i] + c.mean[i], 0);
  EXPECT_GT(c.hard[4], 0);
  EXPECT_EQ(c.v[5], 2);
}

TEST(Tracked, ErrorsOfTheOperandsPropagate) {
  // (a b) b in two matmuls: the second one's bounds include the first one's errors.
  const ArithmeticModel model = model_of(DType::f32, DType::f32, {});
  const Factors f = make_factors(DType::f32, Fill::normal, 4, 24, 24, 24);
  const auto twice = [&](Arithmetic& arithmetic) {
    const Value b = arithmetic.load(f.b);
    return arithmetic.matmul(arithmetic.matmul(arithmetic.load(f.a), false, b, false), false, b, false);
  };
  const Value got = twice(**make_emulated_arithmetic(model));
  const Value want = twice(*make_tracked_arithmetic(model));
  double sum = 0;
  for (std::size_t i = 0; i < got.v.size(); ++i) {
    EXPECT_LE(std::fabs(got.v[i] - want.v[i]), want.hard[i]);
    sum += std::pow(got.v[i] - want.v[i], 2) / want.variance[i];
  }
  EXPECT_NEAR(std::sqrt(sum / static_cast<double>(got.v.size())), 1, 0.15);
}

TEST(Tracked, EmptyDimensions) {
  const ArithmeticModel model = model_of(DType::f32, DType::f32, {});
  const Value none = track(model, make_tensor(DType::f32, {0, 3}), make_tensor(DType::f32, {3, 2}));
  EXPECT_EQ(none.size(), 0);
  const Value zeros = track(model, make_tensor(DType::f32, {2, 0}), make_tensor(DType::f32, {0, 2}));
  EXPECT_EQ(zeros.v, std::vector<double>(4, 0));
  EXPECT_EQ(emulate(model, make_tensor(DType::f32, {2, 0}), make_tensor(DType::f32, {0, 2})).v, zeros.v);
}

TEST(Tracked, SumsOfNoRowsAreNone) {
  const ArithmeticModel model = model_of(DType::f32, DType::f32, {});
  const auto exact = make_exact_arithmetic(), tracked = make_tracked_arithmetic(model);
  const auto emulated = make_emulated_arithmetic(model);
  for (Arithmetic* arithmetic : {exact.get(), tracked.get(), emulated->get()}) {
    const Value none = arithmetic->load(make_tensor(DType::f32, {0, 5}));
    EXPECT_EQ(arithmetic->row_dot(none, nullptr).size(), 0);
    EXPECT_EQ(arithmetic->row_dot(none, &none).size(), 0);
  }
}

// sqrt moves [v - h, v + h] to [sqrt(v - h), sqrt(v + h)] and no farther, also where the slope is infinite:
// a sum of squares that underflow is no larger an error than its own root.
TEST(Tracked, RootsNearZeroKeepTheImageOfTheInterval) {
  for (const double v : {0.0, 1e-76, 1e-46, 1e-40, 1.0})
    for (const double h : {1e-80, 1e-44, 1e-40, 1e-3}) {
      const double up = std::sqrt(v + h) - std::sqrt(v),
                   down = std::sqrt(v) - std::sqrt(std::max(v - h, 0.0));
      const double reach = h * lipschitz(Function::sqrt, v, h);  // beside what the differences cancel
      EXPECT_NEAR(reach, std::max(up, down), 1e-12 * reach + 1e-15 * std::sqrt(v)) << v << " " << h;
    }
}
}  // namespace
}  // namespace parity
