// device_function on the devices of this machine: every function is there or refused with the reason, and is
// itself.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/vulkan/testing.hpp"
#include "harness/profile/exact_function.hpp"
#include "harness/profile/function_calls.hpp"
#include "harness/profile/profile_answers.hpp"
#include "harness/tensor/convert.hpp"

namespace parity::vulkan {
namespace {

class DeviceFunctionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { opened_ = open_test_devices(); }
  static void TearDownTestSuite() { opened_ = {}; }
  void SetUp() override {
    if (opened_.devices.empty()) GTEST_SKIP() << opened_.absent;
  }
  inline static TestDevices opened_;
};

/// What the function makes of 0.75, 1.5 and 0.25, roughly.
double roughly(DeviceFunction function) {
  const double a = 0.75, b = 1.5, c = 0.25;
  switch (function) {
    case DeviceFunction::add:
      return a + b;
    case DeviceFunction::mul:
      return a * b;
    case DeviceFunction::fma:
    case DeviceFunction::mul_add:
    case DeviceFunction::mul_add_free:
      return a * b + c;
    case DeviceFunction::max:
      return b;
    case DeviceFunction::copy:
    case DeviceFunction::min:
    case DeviceFunction::to_f16:
    case DeviceFunction::to_bf16:
      return a;
    default:
      return screen_value(function, a, b);
  }
}

TEST_F(DeviceFunctionTest, EveryFunctionIsThereOrRefusedWithTheReason) {
  for (const auto& device : opened_.devices) {
    int paths = 0;
    for (const Implementation& implementation : device->implementations()) {
      if (implementation.op != device_function_op) continue;
      ++paths;
      if (!device->supports(implementation).legal()) continue;
      const DType format = implementation.stores.front();
      const auto ones = [&](double x) {
        return std::vector<std::uint32_t>(70, static_cast<std::uint32_t>(encode(format, x)));
      };
      int there = 0;
      for (const DeviceFunctionInfo& info : device_functions()) {
        const auto got =
            ask_function(*device, implementation, info.function, ones(0.75), ones(1.5), ones(0.25));
        if (!got) {
          EXPECT_EQ(got.error().kind, ErrorKind::unsupported) << info.name;
          EXPECT_NE(got.error().message.find(info.name), std::string::npos) << got.error().message;
          continue;
        }
        ++there;
        const double want = roughly(info.function);
        for (const std::uint32_t bits : *got)
          ASSERT_NEAR(decode(format, bits), want, 2e-3 * std::fabs(want))
              << device->info().name << " " << implementation.path << " " << info.name;
      }
      EXPECT_GE(there, 15) << implementation.path;
    }
    EXPECT_EQ(paths, 2);
  }
}

TEST_F(DeviceFunctionTest, TheKernelsOwnConversionsAreExact) {
  for (const auto& device : opened_.devices) {
    const auto answers = ask_conversions(*device);
    ASSERT_TRUE(answers) << answers.error().message;
    for (const ProfileAnswer& a : *answers) EXPECT_EQ(a.finding, "") << device->info().name;
  }
}

}  // namespace
}  // namespace parity::vulkan
