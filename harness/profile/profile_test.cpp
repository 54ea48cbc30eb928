// The profile of a healthy device, and of devices with one planted fault each: every fault is a finding.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/numerics/flush_scope.hpp"
#include "harness/profile/device_profile.hpp"
#include "harness/profile/exact_function.hpp"
#include "harness/tensor/convert.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

/// What a faulty device makes of a healthy result.
using Fault = std::function<float(DeviceFunction function, float a, float b, float c, float healthy)>;

class Profile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_exact_functions()) GTEST_SKIP() << no_exact_functions;
  }

  const Implementation& path_of(std::string_view op, DType input = DType::f32) {
    for (const Implementation& i : cpu.implementations())
      if (i.op == op && i.input == input) return i;
    ADD_FAILURE() << "no " << op;
    return cpu.implementations().front();
  }

  /// A device with the op device_function, spoilt, and the casts of `casts` (truncating).
  std::unique_ptr<Device> faulty(const Fault& fault, Rounding casts = Rounding::nearest_even,
                                 const DeviceInfo& info = {"cpu:9", "cpu", "planted", "", "", {}}) {
    const Implementation& asked = path_of(device_function_op);
    const HostKernel healthy = device_function_kernel(asked.contract);
    HostPath path{asked, [healthy, fault](const OpCall& call, const Program& program, HostMemory& memory) {
                    if (auto ok = healthy(call, program, memory); !ok) return ok;
                    const auto function = *parse_device_function(call.attributes.text("function"));
                    std::vector<Tensor> ports;
                    for (const TensorId id : call.inputs)
                      if (id != no_tensor) ports.push_back(*memory.tensor(id));
                    Tensor result = *memory.tensor(call.outputs[0]);
                    const auto at = [&](std::size_t port, std::size_t i) {
                      return port < ports.size() ? ports[port].as<float>()[i] : 0.0f;
                    };
                    const std::span<float> out = result.as<float>();
                    for (std::size_t i = 0; i < out.size(); ++i)
                      out[i] = fault(function, at(0, i), at(1, i), at(2, i), out[i]);
                    return memory.assign(call.outputs[0], result);
                  }};
    const Implementation& cast = path_of("cast");
    ArithmeticModel model = cast.contract;
    model.store_rounding = casts;
    HostPath narrowing{cast, [model](const OpCall& call, const Program&, HostMemory& memory) {
                         Tensor y = *memory.tensor(call.outputs[0]);
                         narrow(to_doubles(*memory.tensor(call.inputs[0])), y, model.store_rounding);
                         return memory.assign(call.outputs[0], y);
                       }};
    return make_host_device(info, {path, narrowing});
  }

  DeviceProfile profile(Device& device, std::vector<DeviceFunction> functions = {DeviceFunction::exp}) {
    ProfileOptions options;
    options.sample = 16;
    options.functions = std::move(functions);
    auto made = profile_device(device, options, [](const std::string&) {});
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? *std::move(made) : DeviceProfile{};
  }

  static std::string answer_to(const DeviceProfile& profile, std::string_view question) {
    for (const ProfileAnswer& a : profile.answers)
      if (a.question == question) return a.answer;
    return "not asked";
  }
  static void expect_finding(const DeviceProfile& profile, std::string_view part) {
    std::string all;
    for (const std::string& finding : profile.findings()) all += finding + "\n";
    EXPECT_NE(all.find(part), std::string::npos) << part << " is not among:\n" << all;
  }

  OpTable ops = make_op_table();
  std::unique_ptr<Backend> backend = make_cpu_backend(ops);
  std::vector<std::unique_ptr<Device>> devices = *backend->devices();
  Device& cpu = *devices.front();
};

float healthy_result(DeviceFunction, float, float, float, float healthy) {
  return healthy;
}

TEST_F(Profile, TheCpuDeviceKeepsItsPromises) {
  const DeviceProfile p = profile(cpu, {});
  EXPECT_EQ(p.findings(), std::vector<std::string>{});
  EXPECT_EQ(answer_to(p, "a + b"), "to nearest even");
  EXPECT_EQ(answer_to(p, "fma(a, b, c)"), "to nearest even");
  EXPECT_EQ(answer_to(p, "a * b + c as the kernels write it"), "a product and a sum");
  EXPECT_EQ(answer_to(p, "min with one NaN"), "the number");
  EXPECT_EQ(answer_to(p, "load and store"), "every bit kept");
  EXPECT_EQ(denormals_of(p.answers, "fp32"), Denormals::preserve);
  const auto of_path = [&](std::string_view path, std::string_view question) {
    for (const ProfileAnswer& a : p.answers)
      if (a.group == path && a.question == question) return a.answer;
    return std::string("not asked");
  };
  EXPECT_TRUE(of_path("tensor_core_f16_f32", "bits").ends_with("8 x 2^-26 give 1: 25 bits"))
      << of_path("tensor_core_f16_f32", "bits");
  EXPECT_EQ(of_path("tensor_core_bf16_f32", "rounding of the sum"), "toward zero");
  EXPECT_TRUE(of_path("sequential_f32", "bits").starts_with("2 x 2^-24 beside 1 give 1"));
  EXPECT_EQ(of_path("sequential_f16_f32", "rounding of the sum"), "to nearest even");
  EXPECT_EQ(of_path("tensor_core_f16_f32", "subnormal operand"), "kept");
  int functions = 0;
  for (const FunctionMeasure& m : p.functions) {
    EXPECT_LE(m.worst.ulp, 0.501) << name_of(m.function) << " over " << m.arguments_text;
    EXPECT_GT(m.worst.ulp, 0.4) << name_of(m.function) << " over " << m.arguments_text;
    EXPECT_GT(m.regular, 1000);
    ++functions;
  }
  EXPECT_EQ(functions, 3 * 9);  // over fp16, bf16 and a sample of fp32
  EXPECT_EQ(p.absent.size(), 2u);
}

TEST_F(Profile, OneArgumentOfExpOffByEightUlp) {
  const float place = 2.720703125f;  // a number of fp16, not of bf16
  const auto device = faulty([place](DeviceFunction function, float a, float, float, float healthy) {
    if (function != DeviceFunction::exp || a != place) return healthy;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(healthy) + 8);
  });
  const DeviceProfile p = profile(*device);
  expect_finding(p, "exp (fp32, all fp16 numbers): 1 of ");
  expect_finding(p, "exp(2.72070312)");
  EXPECT_EQ(p.findings().size(), 1u);
  for (const FunctionMeasure& m : p.functions) {
    if (m.arguments_text != "all fp16 numbers") continue;
    EXPECT_EQ(m.worst.a, 2.720703125);
    EXPECT_NEAR(m.worst.ulp, 8, 0.5);
    // Its binade has it, the others do not.
    for (const BinadeError& b : m.binades)
      EXPECT_EQ(b.max_ulp > 1, b.exponent == 1 && !b.negative) << b.exponent;
  }
}

TEST_F(Profile, AFunctionThatIsNoNumberOrHasTheWrongSpecials) {
  const auto nan_at_one = faulty([](DeviceFunction function, float a, float, float, float healthy) {
    return function == DeviceFunction::log && a == 2.0f ? std::nanf("") : healthy;
  });
  expect_finding(profile(*nan_at_one, {DeviceFunction::log}), "log(2) (0x1p+1) = nan");
  // Without a promise for NaN and Inf this is told, but breaks none: only CUDA gives one.
  const auto wrong_zero = faulty([](DeviceFunction function, float a, float, float, float healthy) {
    return function == DeviceFunction::log && a == 0.0f ? 0.0f : healthy;
  });
  const DeviceProfile p = profile(*wrong_zero, {DeviceFunction::log});
  EXPECT_EQ(p.functions.front().specials.wrong, 2);
  EXPECT_EQ(p.findings().size(), 0u);
}

TEST_F(Profile, AnAdditionThatTruncates) {
  const auto device = faulty([](DeviceFunction function, float a, float b, float, float healthy) {
    if (function != DeviceFunction::add || !std::isfinite(healthy)) return healthy;
    return static_cast<float>(round_to(format_of(DType::f32), static_cast<double>(a) + static_cast<double>(b),
                                       Rounding::toward_zero));
  });
  const DeviceProfile p = profile(*device);
  EXPECT_EQ(answer_to(p, "a + b"), "toward zero");
  expect_finding(p, "a + b in fp32: toward zero; promised: to nearest even");
}

TEST_F(Profile, AProductThatLosesABit) {
  const auto device = faulty([](DeviceFunction function, float, float, float, float healthy) {
    if (function != DeviceFunction::mul) return healthy;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(healthy) & ~3u);
  });
  expect_finding(profile(*device), "a * b in fp32: not correctly rounded");
}

TEST_F(Profile, AContractedProductAndSum) {
  const auto device = faulty([](DeviceFunction function, float a, float b, float c, float healthy) {
    return function == DeviceFunction::mul_add ? std::fma(a, b, c) : healthy;
  });
  const DeviceProfile p = profile(*device);
  EXPECT_EQ(answer_to(p, "a * b + c left to the compiler"), "a product and a sum");
  expect_finding(p, "a * b + c as the kernels write it in fp32: one fma");
}

TEST_F(Profile, FlushedSubnormals) {
  const auto flushed = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  const auto results = faulty([flushed](DeviceFunction function, float, float, float, float healthy) {
    return function == DeviceFunction::copy || function == DeviceFunction::max ? healthy : flushed(healthy);
  });
  const DeviceProfile p = profile(*results);
  EXPECT_EQ(answer_to(p, "a * b: result"), "flushed");
  EXPECT_EQ(answer_to(p, "a * b: argument"), "kept");
  EXPECT_EQ(denormals_of(p.answers, "fp32"), Denormals::either);
  expect_finding(p, "a * b: result in fp32: flushed; promised: kept");
  expect_finding(p, "subnormal results flushed");  // of exp
}

TEST_F(Profile, MinThatKeepsTheNaN) {
  const auto device = faulty([](DeviceFunction function, float a, float b, float, float healthy) {
    return function == DeviceFunction::min && std::isnan(a) ? a + b : healthy;
  });
  expect_finding(profile(*device), "min with one NaN in fp32: NaN if a is NaN, the number if b is");
}

TEST_F(Profile, ConversionsThatTruncate) {
  const auto casts = faulty(healthy_result, Rounding::toward_zero);
  const DeviceProfile p = profile(*casts);
  expect_finding(p, "fp32 to fp16 by the kernels, rounding: toward zero");
  expect_finding(p, "fp32 to bf16 by the kernels, overflow: the largest number");
  EXPECT_EQ(answer_to(p, "fp32 to fp16 by the language: rounding"), "to nearest even");
  const auto language = faulty([](DeviceFunction function, float a, float, float, float healthy) {
    return function == DeviceFunction::to_bf16 && std::isfinite(a)
               ? bf16_to_f32(f32_to_bf16(a, Rounding::toward_zero))
               : healthy;
  });
  expect_finding(profile(*language), "fp32 to bf16 by the language, rounding: toward zero");
}

/// A Vulkan device whose kernels declare everything that can be declared.
DeviceInfo strict_vulkan() {
  return {"vulkan:9",
          "vulkan",
          "planted",
          "",
          "",
          {{"driver", "device_type", "CPU"},  // sampled, not exhausted
           {"shaders", "declared_modes_32", "denormals preserved, round to nearest even"}}};
}

TEST_F(Profile, DenormPreserveBindsSumsAndProductsButNoFunctions) {
  using enum DeviceFunction;
  const auto flushing = [&](std::vector<DeviceFunction> which) {
    return faulty(
        [which](DeviceFunction function, float, float, float, float healthy) {
          const bool hit = std::ranges::find(which, function) != which.end();
          return hit && std::fabs(healthy) < 0x1p-126f ? 0.0f : healthy;
        },
        Rounding::nearest_even, strict_vulkan());
  };
  const DeviceProfile functions = profile(*flushing({DeviceFunction::exp, div}), {DeviceFunction::exp, div});
  EXPECT_EQ(functions.findings(), std::vector<std::string>{});
  EXPECT_EQ(answer_to(functions, "a / b: result"), "flushed");
  std::int64_t flushed = 0;
  for (const FunctionMeasure& m : functions.functions) flushed += m.subnormal_results.flushed;
  EXPECT_GT(flushed, 0);
  expect_finding(profile(*flushing({mul})), "a * b: result in fp32: flushed; promised: kept");
}

TEST_F(Profile, AConversionThatTheCompilerLeftOut) {
  const Fault fault = [](DeviceFunction function, float a, float, float, float healthy) {
    return function == DeviceFunction::to_f16 ? a : healthy;
  };
  // Vulkan allows it, so it is told; CUDA's and the CPU's conversions round.
  const DeviceProfile vulkan = profile(*faulty(fault, Rounding::nearest_even, strict_vulkan()));
  EXPECT_EQ(vulkan.findings(), std::vector<std::string>{});
  EXPECT_EQ(answer_to(vulkan, "fp32 to fp16 by the language: rounding"),
            "none: the compiler left the conversion out");
  EXPECT_EQ(answer_to(vulkan, "fp32 to fp16 by the language: overflow"), "none: left out");
  expect_finding(profile(*faulty(fault)), "fp32 to fp16 by the language, rounding: none: the compiler left");
}

TEST_F(Profile, ADeviceThatCannotBeAskedIsUnsupported) {
  const auto none = make_host_device({"cpu:9", "cpu", "empty", "", "", {}}, {});
  const auto made = profile_device(*none, {}, [](const std::string&) {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace parity
