// Every path on every Vulkan device of the machine, with the validation layer on: any message fails the test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "backends/vulkan/testing.hpp"
#include "backends/vulkan/vulkan_backend.hpp"

namespace parity::vulkan {
namespace {

class VulkanTest : public ::testing::Test {
 protected:
  // Devices are opened once: a software driver compiles every pipeline anew for each.
  static void SetUpTestSuite() { opened_ = open_test_devices(); }
  static void TearDownTestSuite() { opened_ = {}; }
  void SetUp() override {
    if (opened_.devices.empty()) GTEST_SKIP() << opened_.absent;
  }

  /// Runs the problems on all devices and paths of their op; a path that is not legal must say why.
  void run_all(const std::vector<TestProblem>& problems) {
    for (const auto& device : opened_.devices) {
      for (const Implementation& implementation : device->implementations()) {
        if (!device->supports(implementation).legal()) continue;
        for (TestProblem problem : problems) {
          if (problem.op != implementation.op) continue;
          for (const DType store : implementation.stores) {
            problem.store = store;
            const TestOutcome outcome = run_problem(*device, implementation, problem);
            if (!outcome.supported) {
              EXPECT_FALSE(outcome.reason.empty());
              continue;
            }
            EXPECT_EQ(outcome.fault, "")
                << device->info().name << ", " << implementation.path << ": " << to_string(problem);
          }
        }
      }
    }
  }

  inline static TestDevices opened_;
};

TestProblem sized(std::int64_t m, std::int64_t n, std::int64_t k) {
  TestProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  return p;
}

/// A product of integers with a factor that is none.
Program half_scaled() {
  TestProblem p = sized(2, 2, 2);
  p.alpha = 0.5;
  p.store = DType::i32;
  Program program = program_of(p, DType::i8);
  program.accumulate = DType::i32;
  return program;
}

TEST_F(VulkanTest, SizesOffEveryTile) {
  run_all({sized(1, 1, 1), sized(7, 17, 31), sized(33, 1, 63), sized(1, 65, 33), sized(65, 63, 17),
           sized(64, 64, 64), sized(31, 7, 588), sized(129, 66, 40)});
}

TEST_F(VulkanTest, TranspositionsWithLeadingDimensions) {
  std::vector<TestProblem> problems;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const std::int64_t pad : {0, 5, 7}) {  // 35 + 5, 27 + 5 and 41 + 7 are multiples of 8
        TestProblem p = sized(35, 41, 27);
        p.trans_a = ta;
        p.trans_b = tb;
        p.pad = pad;
        problems.push_back(p);
      }
  run_all(problems);
}

TEST_F(VulkanTest, BatchesAlphaAndBeta) {
  TestProblem batched = sized(9, 20, 33);
  batched.batch = 3;
  TestProblem shared = batched;
  shared.share_b = true;
  shared.pad = 5;
  TestProblem scaled = batched;
  scaled.with_c = true;
  scaled.alpha = 0.5;
  scaled.beta = -2;
  TestProblem unread = scaled;  // C is there, but beta is 0
  unread.beta = 0;
  run_all({batched, shared, scaled, unread});
}

TEST_F(VulkanTest, IntegersOfTheWholeRange) {
  std::vector<TestProblem> problems;
  const auto add = [&](TestProblem p) {
    p.values = TestValues::bytes;
    p.store = DType::i32;
    problems.push_back(p);
  };
  add(sized(65, 63, 129));
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const std::int64_t pad : {0, 13}) {  // 35 + 13 and 51 + 13 are multiples of 16
        TestProblem p = sized(35, 51, 35);
        p.trans_a = ta;
        p.trans_b = tb;
        p.pad = pad;
        add(p);
      }
  TestProblem scaled = sized(17, 20, 33);  // leaves 32 bits behind the sum
  scaled.batch = 2;
  scaled.share_b = true;
  scaled.with_c = true;
  scaled.alpha = 3;
  scaled.beta = -70001;
  add(scaled);
  // And in the sum: 2^31 and 2^14 more.
  TestProblem lowest = sized(2, 1, (1 << 17) + 1);
  lowest.values = TestValues::lowest;
  problems.push_back(lowest);
  int paths = 0;
  for (const auto& device : opened_.devices)
    for (const Implementation& implementation : device->implementations()) {
      if (implementation.input != DType::i8 || !device->supports(implementation).legal()) continue;
      ++paths;
      EXPECT_FALSE(device->supports(implementation, half_scaled().calls[0], half_scaled()).legal());
      for (TestProblem p : problems) {
        p.store = DType::i32;
        const TestOutcome outcome = run_problem(*device, implementation, p);
        EXPECT_TRUE(outcome.supported) << outcome.reason;
        EXPECT_EQ(outcome.fault, "") << device->info().name << ", " << implementation.path << ": "
                                     << to_string(p);
      }
    }
  // One that any device can run.
  EXPECT_GE(paths, static_cast<int>(opened_.devices.size()));
}

TEST_F(VulkanTest, LinearWithBiasAndActivation) {
  std::vector<TestProblem> problems;
  for (const char* activation : {"identity", "relu", "leaky_relu_squared"})
    for (const bool bias : {false, true}) {
      TestProblem p = sized(19, 37, 12);
      p.op = "linear";
      p.activation = activation;
      p.with_c = bias;
      problems.push_back(p);
    }
  run_all(problems);
}

TEST_F(VulkanTest, EmptyDimensions) {
  TestProblem no_terms = sized(5, 6, 0);
  no_terms.with_c = true;
  no_terms.beta = 2;
  TestProblem no_batch = sized(4, 4, 4);
  no_batch.batch = 0;
  TestProblem bias_only = sized(5, 6, 0);
  bias_only.op = "linear";
  bias_only.with_c = true;
  run_all({sized(0, 5, 4), sized(5, 0, 4), sized(5, 6, 0), no_terms, no_batch, bias_only});
}

TEST_F(VulkanTest, SigmoidAndTanhStaySafe) {
  const std::vector<float> inputs{-1e30f,
                                  -1000.f,
                                  -100.f,
                                  -88.f,
                                  -20.f,
                                  -1.f,
                                  -0.7f,
                                  -0.6f,
                                  -1e-3f,
                                  -1e-30f,
                                  0.f,
                                  1e-30f,
                                  1e-3f,
                                  0.6f,
                                  0.7f,
                                  1.f,
                                  9.f,
                                  20.f,
                                  88.f,
                                  100.f,
                                  1000.f,
                                  1e30f,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::nanf("")};
  for (const auto& device : opened_.devices) {
    for (const Implementation& implementation : device->implementations()) {
      if (implementation.op != "linear" || implementation.input != DType::f32) continue;
      for (const std::string name : {"sigmoid", "tanh"}) {
        TestProblem p = sized(1, static_cast<std::int64_t>(inputs.size()), 0);
        p.op = "linear";
        p.activation = name;
        p.with_c = true;  // with no terms the result is activation(bias)
        const Program program = program_of(p, DType::f32);
        auto session = device->load(program, {implementation.path});
        ASSERT_TRUE(session) << session.error().message;
        auto bias = Tensor::create(DType::f32, program.tensors[3].shape);
        ASSERT_TRUE(bias);
        for (std::size_t i = 0; i < inputs.size(); ++i)
          bias->set_value(static_cast<std::int64_t>(i), static_cast<double>(inputs[i]));
        ASSERT_TRUE((*session)->write(3, *bias));
        ASSERT_TRUE((*session)->run());
        const auto got = (*session)->read(2);
        ASSERT_TRUE(got) << got.error().message;
        const FunctionAccuracy accuracy =
            name == "tanh" ? implementation.contract.tanh : implementation.contract.sigmoid;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          const double x = static_cast<double>(inputs[i]), y = got->value(static_cast<std::int64_t>(i));
          if (std::isnan(x)) {
            EXPECT_TRUE(std::isnan(y)) << name;
            continue;
          }
          const double want = name == "tanh" ? std::tanh(x) : 1 / (1 + std::exp(-x));
          const double reach = std::min(std::fabs(x), 1e4);  // beyond it the function is flat
          const double allowed =
              2 * (accuracy.base_ulp + accuracy.slope_ulp * reach) * 0x1p-24 * std::fabs(want) +
              accuracy.absolute;
          EXPECT_LE(std::fabs(y - want), allowed)
              << device->info().name << " " << implementation.path << " " << name << "(" << x << ") = " << y;
        }
      }
    }
  }
}

TEST_F(VulkanTest, EveryIllegalPathSaysWhy) {
  for (const auto& device : opened_.devices) {
    EXPECT_FALSE(device->implementations().empty());
    for (const Implementation& implementation : device->implementations()) {
      const Support support = device->supports(implementation);
      if (support.legal()) continue;
      EXPECT_EQ(support.kind, Support::Kind::unsupported);
      EXPECT_FALSE(support.reason.empty()) << implementation.path;
      TestProblem problem = sized(4, 4, 4);
      problem.store = implementation.stores.front();
      const Program program = program_of(problem, implementation.input);
      if (implementation.op != "gemm") continue;
      const auto session = device->load(program, {implementation.path});
      ASSERT_FALSE(session) << implementation.path << " must not be replaced";
      EXPECT_EQ(session.error().kind, ErrorKind::unsupported);
    }
  }
}

TEST_F(VulkanTest, FactsNameWhatMatters) {
  for (const auto& device : opened_.devices) {
    EXPECT_EQ(device->info().backend, "vulkan");
    for (const char* name : {"driver_name", "max_storage_buffer_range", "shader_float16", "float_controls_32",
                             "subgroup_size", "VK_KHR_cooperative_matrix"}) {
      bool found = false;
      for (const DeviceFact& fact : device->info().facts) found = found || fact.name == name;
      EXPECT_TRUE(found) << name;
    }
  }
}

TEST_F(VulkanTest, WrongTensorIsRefusedByName) {
  for (const auto& device : opened_.devices) {
    auto session = device->load(program_of(sized(4, 4, 4), DType::f32), {"naive_f32"});
    ASSERT_TRUE(session) << session.error().message;
    auto wrong = Tensor::create(DType::f32, {4, 5});
    ASSERT_TRUE(wrong);
    const auto written = (*session)->write(0, *wrong);
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("'A'"), std::string::npos) << written.error().message;
  }
}

TEST_F(VulkanTest, UnwrittenInputShowsAsNan) {
  for (const auto& device : opened_.devices) {
    auto session = device->load(program_of(sized(2, 2, 2), DType::f32), {"naive_f32"});
    ASSERT_TRUE(session) << session.error().message;
    ASSERT_TRUE((*session)->run());
    const auto got = (*session)->read(2);
    ASSERT_TRUE(got);
    EXPECT_TRUE(std::isnan(got->value(0)));
  }
}

}  // namespace
}  // namespace parity::vulkan
