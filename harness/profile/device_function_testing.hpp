#pragma once
// device_function on a device, for the tests of every backend that has one.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/profile/exact_function.hpp"
#include "harness/profile/function_calls.hpp"
#include "harness/profile/profile_answers.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {

/// What the function makes of 0.75, 1.5 and 0.25, roughly.
inline double roughly(DeviceFunction function) {
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

/// Every function is there, and is itself, or is refused with the reason; fp32 and fp16 have a path each.
inline void expect_every_function(Device& device) {
  int paths = 0;
  for (const Implementation& implementation : device.implementations()) {
    if (implementation.op != device_function_op) continue;
    ++paths;
    if (!device.supports(implementation).legal()) continue;
    const DType format = implementation.stores.front();
    const auto ones = [&](double x) {
      return std::vector<std::uint32_t>(70, static_cast<std::uint32_t>(encode(format, x)));
    };
    int there = 0;
    for (const DeviceFunctionInfo& info : device_functions()) {
      const auto got = ask_function(device, implementation, info.function, ones(0.75), ones(1.5), ones(0.25));
      if (!got) {
        EXPECT_EQ(got.error().kind, ErrorKind::unsupported) << info.name;
        EXPECT_NE(got.error().message.find(info.name), std::string::npos) << got.error().message;
        continue;
      }
      ++there;
      const double want = roughly(info.function);
      for (const std::uint32_t bits : *got)
        ASSERT_NEAR(decode(format, bits), want, 2e-3 * std::fabs(want))
            << device.info().name << " " << implementation.path << " " << info.name;
    }
    EXPECT_GE(there, 15) << implementation.path;
  }
  EXPECT_EQ(paths, 2);
}

inline void expect_exact_conversions(Device& device) {
  const auto answers = ask_conversions(device);
  ASSERT_TRUE(answers) << answers.error().message;
  for (const ProfileAnswer& a : *answers) EXPECT_EQ(a.finding, "") << device.info().name;
}

}  // namespace parity
