// The ruler: exact values, errors in ULP, and which of them a promise allows.
#include "harness/profile/function_measure.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "harness/profile/argument_set.hpp"
#include "harness/profile/device_profile.hpp"
#include "harness/profile/exact_function.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {
namespace {

class Measure : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_exact_functions()) GTEST_SKIP() << no_exact_functions;
  }
};

TEST_F(Measure, ErrorsAreInUlpOfTheFormatAtTheExactValue) {
  const FloatFormat f32 = format_of(DType::f32), f16 = format_of(DType::f16);
  ExactFunction root(DeviceFunction::sqrt);
  EXPECT_EQ(root.error_ulp(4, 0, 2, f32), 0);
  EXPECT_EQ(root.error_ulp(4, 0, 2 + 0x1p-22, f32), 1);
  EXPECT_EQ(root.error_ulp(4, 0, 2 - 0x1p-22, f32), 1);
  EXPECT_EQ(root.error_ulp(4, 0, 2 + 0x1p-9, f16), 1);
  EXPECT_TRUE(std::isnan(root.error_ulp(-1, 0, 2, f32)));
  ExactFunction quotient(DeviceFunction::div);
  EXPECT_NEAR(quotient.error_ulp(1, 3, 0x1.555556p-2, f32), 1.0 / 3, 1e-12);
  // Below the normal range the spacing stays; beyond the largest number counts the power of two behind it.
  EXPECT_EQ(quotient.error_ulp(0x1p-140, 1, 0, f32), 512);
  EXPECT_EQ(quotient.error_ulp(0x1p127, 0.25, HUGE_VAL, f32), 0);
  EXPECT_EQ(quotient.error_ulp(0x1p127, 0.25, largest_finite(f32), f32), 1);
}

TEST_F(Measure, ScreenAndExactValueAgree) {
  const ArgumentSet set = sample_fp32(24, 3);
  for (const DeviceFunctionInfo& info : device_functions()) {
    if (!has_exact_value(info.function)) continue;
    ExactFunction exact(info.function);
    for (std::int64_t i = 0; i < set.count; i += 7) {
      const double a = static_cast<double>(set.at(i)), b = 1.7;
      const double screen = screen_value(info.function, a, b);
      if (!std::isfinite(a) || !std::isfinite(screen) || std::fabs(screen) < 1e-300) continue;
      const double want = exact.value(a, b);
      ASSERT_LE(std::fabs(screen - want), 0x1p-50 * std::fabs(want)) << info.name << "(" << a << ")";
    }
  }
}

Promise of_ulp(double ulp) {
  Promise promise;
  promise.given = true;
  promise.base_ulp = ulp;
  promise.text = "a promise";
  return promise;
}

/// Roots of [1, 4), `off` ULP away.
FunctionMeasure measured_roots(int off, const Promise& promise) {
  FunctionMeter meter(DeviceFunction::sqrt, DType::f32, promise, false);
  std::vector<float> x, y;
  for (int i = 0; i < 5000; ++i) {
    x.push_back(1 + 3 * static_cast<float>(i) / 5000);
    y.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(std::sqrt(x.back())) +
                                     static_cast<std::uint32_t>(i == 1234 ? off : 0)));
  }
  meter.take(x, {}, y);
  return meter.finish();
}

TEST_F(Measure, TheLimitItselfIsAllowedAndAnythingBeyondIsNot) {
  // sqrt(1 + 3 * 1234 / 5000) in fp32 is off by less than half an ULP; with 2 more it is off by 1.5 to 2.5.
  const double error = measured_roots(2, of_ulp(10)).worst.ulp;
  EXPECT_GT(error, 1.5);
  EXPECT_EQ(measured_roots(2, of_ulp(10)).breaks, 0);
  EXPECT_EQ(measured_roots(2, of_ulp(error)).breaks, 0);
  // Nearer than the screen can see: MPFR decides.
  EXPECT_EQ(measured_roots(2, of_ulp(error - 1e-9)).breaks, 1);
  EXPECT_EQ(measured_roots(2, of_ulp(error - 1e-3)).breaks, 1);
  EXPECT_EQ(measured_roots(2, of_ulp(error - 1e-3)).worst_break.ulp, error);
  EXPECT_EQ(measured_roots(0, of_ulp(0.5)).breaks, 0);
  EXPECT_EQ(measured_roots(0, of_ulp(0.5)).not_rounded, 0);
  EXPECT_EQ(measured_roots(1, of_ulp(0.5)).not_rounded, 1);
}

TEST_F(Measure, APromiseHasARangeAndAPlaceOfItsOwn) {
  const Promise log = vulkan_promise(DeviceFunction::log, DType::f32);
  EXPECT_EQ(log.limit_ulp(3, 0, 1, 1.5), 3);
  EXPECT_EQ(log.limit_ulp(1.5, 0, 0x1p-24, 1.5), 8);
  const Promise quotient = vulkan_promise(DeviceFunction::div, DType::f32);
  EXPECT_EQ(quotient.limit_ulp(1e-40, 2, 1, 1.5), 2.5);
  EXPECT_EQ(quotient.limit_ulp(1, 0x1p127, 1, 1.5), HUGE_VAL);
  const Promise exp = vulkan_promise(DeviceFunction::exp, DType::f16);
  EXPECT_EQ(exp.limit_ulp(-3, 0, 1, 1.5), 7);
  EXPECT_EQ(vulkan_promise(DeviceFunction::sin, DType::f32).limit_ulp(4, 0, 1, 1.5), HUGE_VAL);
  EXPECT_FALSE(vulkan_promise(DeviceFunction::tanh_builtin, DType::f32).given);
  EXPECT_EQ(cuda_promise(DeviceFunction::div, DType::f32).limit_ulp(1, 3, 1, 1.5), 0.5);
}

/// 1 / sqrt with the accuracy of a kernel's own, 1 ULP = 2u relative: one result that is `error` ULP off (to
/// 0.02), at the first argument from `from` on where there is such a number.
FunctionMeasure own_inverse_root(float from, double error) {
  float argument = from, result = 0;
  for (double off = 0; std::fabs(off - error) > 0.02; argument = std::nextafter(argument, 1.0f)) {
    const double exact = 1 / std::sqrt(static_cast<double>(argument));
    const double ulp = ulp_at(format_of(DType::f32), exact);
    result = static_cast<float>(exact + error * ulp);
    off = (static_cast<double>(result) - exact) / ulp;
  }
  argument = std::nextafter(argument, 0.0f);
  Implementation own;
  own.contract.inverse_sqrt = {1.00001, 0, 0};
  FunctionMeter meter(DeviceFunction::inverse_sqrt, DType::f32,
                      declared_promise(DeviceFunction::inverse_sqrt, own), false);
  meter.take({&argument, 1}, {}, {&result, 1});
  return meter.finish();
}

TEST_F(Measure, OwnFunctionsAreHeldToARelativeBoundAsContractsAre) {
  // Just below 4 an ULP is u: 2u are 2 ULP.
  const FunctionMeasure inside = own_inverse_root(0x1.00001p-4f, 1.9);
  EXPECT_NEAR(inside.worst.ulp, 1.9, 0.021);
  EXPECT_EQ(finding_of(inside), "");
  const FunctionMeasure outside = own_inverse_root(0x1.00001p-4f, 2.1);
  EXPECT_NEAR(outside.worst.ulp, 2.1, 0.021);
  EXPECT_NE(finding_of(outside).find("1 of 1 arguments beyond 1 ULP, relative"), std::string::npos)
      << finding_of(outside);
  // Just above it is 2u: the same error is too large there.
  EXPECT_NE(finding_of(own_inverse_root(0x1.ff0p-5f, 1.9)), "");
  EXPECT_EQ(finding_of(own_inverse_root(0x1.ff0p-5f, 0.9)), "");
  Implementation own;
  own.contract.sigmoid = {3, 0, 0};
  const Promise promise = declared_promise(DeviceFunction::sigmoid, own);
  EXPECT_EQ(promise.limit_ulp(1, 0, 0x1p-23, 1), 3);
  EXPECT_EQ(promise.limit_ulp(1, 0, 0x1p-23, 1.5), 4.5);
  EXPECT_EQ(promise.limit_ulp(1, 0, 0x1p-149, 0x1p-140), 3);
  // An interface promises true ULP.
  EXPECT_EQ(cuda_promise(DeviceFunction::exp, DType::f32).limit_ulp(1, 0, 0x1p-23, 0x1.fffffep0), 2);
}

TEST_F(Measure, SubnormalsAreKeptFlushedOrWrong) {
  const auto classes = [](float result, bool may_flush) {
    FunctionMeter meter(DeviceFunction::div, DType::f32, of_ulp(2.5), may_flush);
    const float a[] = {0x1p-120f}, b[] = {0x1p10f}, got[] = {result};  // 2^-130
    meter.take(a, b, got);
    return meter.finish().subnormal_results;
  };
  EXPECT_EQ(classes(0x1p-130f, false).kept, 1);
  EXPECT_EQ(classes(0, true).flushed, 1);
  EXPECT_EQ(classes(0x1p-126f, true).wrong, 1);
  const auto arguments = [](float result, bool may_flush) {
    FunctionMeter meter(DeviceFunction::log, DType::f32, of_ulp(3), may_flush);
    const float a[] = {0x1p-130f}, got[] = {result};
    meter.take(a, {}, got);
    return meter.finish().subnormal_arguments;
  };
  const float right = static_cast<float>(std::log(0x1p-130));
  EXPECT_EQ(arguments(right, false).kept, 1);
  EXPECT_EQ(arguments(-HUGE_VALF, true).flushed, 1);
  // The logarithm of a flushed argument is undefined; of a kept one it is not.
  EXPECT_EQ(arguments(-88, true).undefined, 1);
  EXPECT_EQ(arguments(-88, false).wrong, 1);
}

TEST(Arguments, EveryNumberOfTheSmallFormatsAndAllBinadesOfFp32) {
  const ArgumentSet halves = all_numbers(DType::f16, DType::f16);
  EXPECT_TRUE(halves.exhaustive);
  EXPECT_FALSE(all_numbers(DType::f16, DType::f32).exhaustive);
  std::set<std::uint32_t> seen, binades;
  for (std::int64_t i = 0; i < halves.count; ++i)
    if (std::isfinite(halves.at(i))) seen.insert(std::bit_cast<std::uint32_t>(halves.at(i)));
  EXPECT_EQ(seen.size(), 65536u - 2048u);
  const ArgumentSet sample = sample_fp32(16, 1);
  for (std::int64_t i = 0; i < sample.count; ++i)
    binades.insert(std::bit_cast<std::uint32_t>(sample.at(i)) >> 23);
  EXPECT_EQ(binades.size(), 512u);
  const ArgumentSet all = all_fp32();
  EXPECT_EQ(all.count, std::int64_t{1} << 32);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(all.at(0xffffffff)), 0xffffffffu);
  for (const float divisor : {1.0f, -3e38f, 1e-38f}) {
    const double ratio =
        std::fabs(static_cast<double>(partner_of(divisor, 1, DType::f32)) / static_cast<double>(divisor));
    EXPECT_GT(ratio, 0x1p-22);
    EXPECT_LT(ratio, 0x1p22);
  }
}

}  // namespace
}  // namespace parity
