// device_function on the devices of this machine: every function is there or refused with the reason, and is
// itself.
#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.hpp"
#include "harness/profile/device_function_testing.hpp"

namespace parity::cuda {
namespace {

class DeviceFunctionTest : public ::testing::Test {
 protected:
  // Opened once: loading the vendor's library takes longer than most tests.
  static void SetUpTestSuite() {
    auto devices = make_cuda_backend({})->devices();
    if (devices)
      devices_ = *std::move(devices);
    else
      absent_ = devices.error().message;
  }
  static void TearDownTestSuite() { devices_.clear(); }
  void SetUp() override {
    if (devices_.empty()) GTEST_SKIP() << absent_;
  }
  inline static std::vector<std::unique_ptr<Device>> devices_;
  inline static std::string absent_;
};

TEST_F(DeviceFunctionTest, EveryFunctionIsThereOrRefusedWithTheReason) {
  for (const auto& device : devices_) expect_every_function(*device);
}

TEST_F(DeviceFunctionTest, TheKernelsOwnConversionsAreExact) {
  for (const auto& device : devices_) expect_exact_conversions(*device);
}

}  // namespace
}  // namespace parity::cuda
