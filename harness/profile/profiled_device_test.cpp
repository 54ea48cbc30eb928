// A profile tightens what it measured, no more, and only the device's that it is of.
#include "harness/profile/profiled_device.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/runner.hpp"
#include "harness/ladder/stages/ladder_stages.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

FunctionMeasure all_of(DeviceFunction function, double ulp) {
  FunctionMeasure m;
  m.function = function;
  m.arguments_text = "all fp32 numbers";
  m.exhaustive = true;
  m.arguments = std::int64_t{1} << 32;
  m.not_rounded = 7;
  m.binades = {{-3, false, ulp, 1e-9}, {-1, false, ulp, 1e-8}, {0, false, ulp, 1e-8}, {3, true, ulp, 1e-8}};
  return m;
}

/// What Vulkan promises of exp: 3 + 2|x| ULP.
constexpr FunctionAccuracy vulkan_exp{3, 2, 0x1p-126}, vulkan_log{3, 0, 0x1p-21}, vulkan_root{2, 0, 0};

TEST(MeasuredAccuracy, CoversEveryBinade) {
  FunctionMeasure m = all_of(DeviceFunction::exp, 1.5);
  m.binades = {{-20, false, 1, 0}, {-1, true, 1.5, 0}, {0, false, 2, 0}, {4, false, 17.5, 0}};
  const auto accuracy = measured_accuracy(m, vulkan_exp);
  ASSERT_TRUE(accuracy) << accuracy.error().message;
  EXPECT_NEAR(accuracy->base_ulp, 1.5, 1e-5);
  EXPECT_NEAR(accuracy->slope_ulp, 1, 1e-5);
  for (const BinadeError& b : m.binades)
    EXPECT_GE(accuracy->base_ulp + accuracy->slope_ulp * std::ldexp(1.0, b.exponent), b.max_ulp)
        << b.exponent;
}

TEST(MeasuredAccuracy, ALogarithmNearOneHasAnAbsoluteError) {
  FunctionMeasure m = all_of(DeviceFunction::log, 1.25);
  m.binades[1].max_ulp = m.binades[2].max_ulp = 1e6;
  m.binades[2].max_absolute = 3e-8;
  const auto accuracy = measured_accuracy(m, vulkan_log);
  ASSERT_TRUE(accuracy) << accuracy.error().message;
  EXPECT_NEAR(accuracy->base_ulp, 1.25, 1e-5);
  EXPECT_NEAR(accuracy->absolute, 3e-8, 1e-13);
}

TEST(MeasuredAccuracy, WhatIsNotSoundIsRefused) {
  const auto why = [](const FunctionMeasure& m, const FunctionAccuracy& promised) {
    const auto accuracy = measured_accuracy(m, promised);
    return accuracy ? std::string("taken") : accuracy.error().message;
  };
  FunctionMeasure m = all_of(DeviceFunction::inverse_sqrt, 1.5);
  EXPECT_EQ(why(m, vulkan_root), "taken");
  EXPECT_NE(why(all_of(DeviceFunction::inverse_sqrt, 2.5), vulkan_root).find("no better"), std::string::npos);
  m.breaks = 1;
  EXPECT_NE(why(m, vulkan_root).find("breaks"), std::string::npos);
  m = all_of(DeviceFunction::inverse_sqrt, 1.5);
  m.exhaustive = false;
  EXPECT_NE(why(m, vulkan_root).find("measured over"), std::string::npos);
  m = all_of(DeviceFunction::inverse_sqrt, 1.5);
  m.subnormal_arguments.undefined = 5;
  EXPECT_NE(why(m, vulkan_root).find("neither kept nor flushed"), std::string::npos);
  m = all_of(DeviceFunction::inverse_sqrt, 0.5);
  m.not_rounded = 0;
  EXPECT_TRUE(correctly_rounded(*measured_accuracy(m, vulkan_root)));
  m.subnormal_arguments.flushed = 1;  // then its bits are not those of a correctly rounded function
  EXPECT_FALSE(correctly_rounded(*measured_accuracy(m, vulkan_root)));
}

class Profiled : public ::testing::Test {
 protected:
  /// The CPU device with the contracts that Vulkan would have: wider than it needs, subnormals either way.
  Profiled() {
    std::vector<HostPath> paths;
    for (Implementation implementation : cpu.implementations()) {
      if (implementation.path != "sequential_f32" && implementation.op != device_function_op) continue;
      const ArithmeticModel model = implementation.contract;
      implementation.contract.exp = vulkan_exp;
      implementation.contract.log = vulkan_log;
      implementation.contract.sigmoid = {6.5, 2, 0x1p-126};
      implementation.contract.denormals = Denormals::either;
      implementation.replays = {implementation.contract, implementation.contract};
      implementation.replays[0].denormals = Denormals::preserve;
      implementation.replays[1].denormals = Denormals::flush;
      // A sigmoid that is off by 6 ULP: inside the promise, beyond what was measured.
      HostKernel kernel = emulated_kernel(ops, model);
      if (implementation.op == "gru_gate")
        kernel = [healthy = kernel](const OpCall& call, const Program& program,
                                    HostMemory& memory) -> Result<void> {
          if (auto ok = healthy(call, program, memory); !ok) return ok;
          Tensor y = *memory.tensor(call.outputs[0]);
          y.set_bits(5, y.bits(5) + 6);
          return memory.assign(call.outputs[0], y);
        };
      paths.push_back({implementation, kernel});
    }
    wide = make_host_device({"cpu:9", "cpu", "wide", "1.0", "host", {}}, std::move(paths));
    profile.device = wide->info();
    profile.functions = {all_of(DeviceFunction::exp, 0.75), all_of(DeviceFunction::sigmoid, 0.75)};
    profile.answers = {{"fp32", "subnormals", "a + b: result", "kept", "", ""},
                       {"fp32", "subnormals", "a * b: argument", "kept", "", ""}};
  }

  OpTable ops = make_op_table();
  StageTable stages = make_stage_table(ops);
  std::unique_ptr<Backend> backend = make_cpu_backend(ops);
  std::vector<std::unique_ptr<Device>> devices = *backend->devices();
  Device& cpu = *devices.front();
  std::unique_ptr<Device> wide;
  DeviceProfile profile;
};

TEST_F(Profiled, TightensWhatWasMeasuredAndSaysWhatWasNot) {
  const auto made = ProfiledDevice::create(*wide, profile);
  ASSERT_TRUE(made) << made.error().message;
  for (const Implementation& i : (*made)->implementations()) {
    EXPECT_NEAR(i.contract.exp.base_ulp, 0.75, 1e-5) << i.op;
    EXPECT_EQ(i.contract.log.base_ulp, 3) << i.op;
    EXPECT_EQ(i.contract.denormals, Denormals::preserve) << i.op;
    ASSERT_EQ(i.replays.size(), 1u) << i.op;
    EXPECT_EQ(i.replays[0].denormals, Denormals::preserve);
  }
  const std::string text = (*made)->use().text();
  for (const char* part : {"subnormals: kept", "exp: 0.75 ULP", "Inconclusive: log: not measured"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
}

TEST_F(Profiled, MixedSubnormalsSettleNothing) {
  profile.answers[1].answer = "flushed";
  const auto made = ProfiledDevice::create(*wide, profile);
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->implementations().front().contract.denormals, Denormals::either);
  EXPECT_EQ((*made)->implementations().front().replays.size(), 2u);
  EXPECT_NE((*made)->use().text().find("subnormals: not the same"), std::string::npos);
}

TEST_F(Profiled, AProfileOfAnotherDeviceOrDriverIsRefusedByName) {
  const auto refusal = [&](DeviceInfo DeviceProfile::*, auto change) {
    DeviceProfile other = profile;
    change(other.device);
    const auto made = ProfiledDevice::create(*wide, other);
    return made ? std::string("taken") : made.error().message;
  };
  EXPECT_NE(refusal(&DeviceProfile::device, [](DeviceInfo& d) { d.driver = "2.0"; })
                .find("driver '2.0', cpu:9 has '1.0'"),
            std::string::npos);
  EXPECT_NE(refusal(&DeviceProfile::device, [](DeviceInfo& d) { d.name = "narrow"; }).find("device 'narrow'"),
            std::string::npos);
}

/// What the promise lets pass, the measured accuracy does not.
TEST_F(Profiled, ATightenedContractCatchesWhatThePromiseLetsPass) {
  const auto c = parse_case("gru_gate batch=4 hidden=16 activation=sigmoid", stages);
  ASSERT_TRUE(c) << c.error().message;
  Runner promised(ops, stages, *wide, {});
  EXPECT_EQ(promised.run(*c, "sequential_f32").verdict, Verdict::pass);
  const auto made = ProfiledDevice::create(*wide, profile);
  ASSERT_TRUE(made);
  Runner measured(ops, stages, **made, {});
  EXPECT_EQ(measured.run(*c, "sequential_f32").verdict, Verdict::fail);
}

}  // namespace
}  // namespace parity
