// device_function on the devices of this machine: every function is there or refused with the reason, and is
// itself.
#include <gtest/gtest.h>

#include "backends/vulkan/testing.hpp"
#include "harness/profile/device_function_testing.hpp"

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

TEST_F(DeviceFunctionTest, EveryFunctionIsThereOrRefusedWithTheReason) {
  for (const auto& device : opened_.devices) expect_every_function(*device);
}

TEST_F(DeviceFunctionTest, TheKernelsOwnConversionsAreExact) {
  for (const auto& device : opened_.devices) expect_exact_conversions(*device);
}

}  // namespace
}  // namespace parity::vulkan
