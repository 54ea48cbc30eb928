// Every op but the products: without a device, that the tables are complete and the test cases can tell right
// from wrong (on emulated kernels); on a device, that the kernels are right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/op_testing.hpp"
#include "backends/cuda/paths.hpp"
#include "harness/bisect/scan_testing.hpp"
#include "harness/ladder/device_function.hpp"
#include "harness/ladder/execution.hpp"
#include "references/op_table.hpp"

namespace parity::cuda {
namespace {

DeviceTraits hopper() {
  DeviceTraits traits;
  traits.major = 9;
  traits.multiprocessors = 132;
  traits.cublas = std::make_shared<CublasLibrary>();  // there, never called
  return traits;
}

bool is_product(const Implementation& i) {
  return i.op == "gemm" || i.op == "linear";
}

TEST(OpPaths, EveryOpHasACompleteImplementation) {
  const OpTable ops = make_op_table();
  const auto paths = make_paths(hopper());
  for (const auto& op : ops.all())
    EXPECT_TRUE(std::ranges::any_of(paths, [&](const Path& p) { return p.implementation.op == op->name(); }))
        << op->name() << " has no path";
  for (const Path& path : paths) {
    const Implementation& i = path.implementation;
    SCOPED_TRACE(i.path + " of " + i.op);
    if (i.op == device_function_op) continue;  // what is asked of it is no reference's
    EXPECT_NE(ops.find(i.op), nullptr);
    EXPECT_FALSE(i.path.empty() || i.summary.empty() || i.stores.empty());
    EXPECT_TRUE(path.support.legal() && path.fits && path.make);
    if (is_product(i) || i.op == "trace_scan") continue;
    EXPECT_TRUE(i.path == "direct_f32" || i.path == "atomic_f32");
    EXPECT_EQ(i.factors, i.op == "cast" ? 1U : 0U);
    EXPECT_EQ(i.knowledge == OrderKnowledge::declared, i.contract.accumulation.has_value());
    // What CUDA promises of its functions, and that division and root are correctly rounded.
    EXPECT_GE(i.contract.exp.base_ulp, 2);
    EXPECT_GE(i.contract.tanh.base_ulp, 2);
    EXPECT_GE(i.contract.log.base_ulp, 1);
    EXPECT_GE(i.contract.inverse_sqrt.base_ulp, 1);
    EXPECT_GE(i.contract.sigmoid.base_ulp, 3);
    EXPECT_TRUE(correctly_rounded(i.contract.divide) && correctly_rounded(i.contract.sqrt));
  }
}

TEST(OpPaths, AtomicFormsStandBesideTheOrderedOnes) {
  const auto paths = make_paths(hopper());
  for (const char* op : {"embedding_backward", "gradient_reduction"}) {
    const Path* atomic = find_path(paths, "atomic_f32", op);
    ASSERT_NE(atomic, nullptr);
    EXPECT_EQ(atomic->implementation.knowledge, OrderKnowledge::unknown);
    EXPECT_EQ(atomic->implementation.contract.denormals, Denormals::either);
    EXPECT_NE(find_path(paths, "direct_f32", op), nullptr);
  }
}

TEST(OpCases, EveryOpHasOneAndItsPathTakesIt) {
  const OpTable ops = make_op_table();
  const auto paths = make_paths(hopper());
  std::set<std::string> covered{"gemm", "linear", "trace_scan"};  // these have tests of their own
  for (const OpCase& c : op_cases()) {
    covered.insert(c.op);
    const Op* op = ops.find(c.op);
    ASSERT_NE(op, nullptr) << c.op;
    const auto built = build(c, *op, {}, 1);
    ASSERT_TRUE(built) << c.name << ": " << built.error().message;
    const auto path = choose_path(paths, "direct_f32", built->program.calls[0], built->program);
    EXPECT_TRUE(path) << c.name << ": " << (path ? "" : path.error().message);
  }
  for (const auto& op : ops.all()) EXPECT_TRUE(covered.contains(std::string(op->name()))) << op->name();
}

/// The paths of this backend with the emulated arithmetic in place of the kernels.
std::unique_ptr<Device> emulated_device(const OpTable& ops, bool faulty) {
  std::vector<HostPath> host;
  for (const Path& path : make_paths(hopper())) {
    const Implementation& i = path.implementation;
    if (is_product(i) || (i.op == "cast" && i.input != DType::f32)) continue;
    ArithmeticModel model = i.contract;
    if (!model.accumulation) model.accumulation = Accumulation{};
    model.denormals = Denormals::preserve;
    const HostKernel healthy = emulated_kernel(ops, model);
    HostKernel kernel = [healthy, faulty](const OpCall& call, const Program& program,
                                          HostMemory& memory) -> Result<void> {
      if (auto ok = healthy(call, program, memory); !ok || !faulty) return ok;
      auto tensor = memory.tensor(call.outputs[0]);  // the fault: the last element is some 2% off
      if (!tensor) return tl::unexpected(tensor.error());
      if (tensor->elements() == 0) return {};
      const std::int64_t last = tensor->elements() - 1;
      tensor->set_value(last, tensor->value(last) * 1.02 + 1e-2);
      return memory.assign(call.outputs[0], *tensor);
    };
    host.push_back({i, std::move(kernel)});
  }
  return make_host_device({}, std::move(host));
}

TEST(OpCases, EmulatedKernelsPassAndFaultyOnesDoNot) {
  const OpTable ops = make_op_table();
  for (const bool faulty : {false, true}) {
    const auto device = emulated_device(ops, faulty);
    OpTester tester(ops, *device);
    for (const OpCase& c : op_cases()) {
      for (const Implementation& i : device->implementations()) {
        if (i.op != c.op || c.inputs[0]->dtype == DType::f16 || c.inputs[0]->dtype == DType::bf16) continue;
        const std::string fault = tester.fault_of(c, i, {.pad = 3});
        // Where the output has no element there is nothing to be wrong.
        const bool nothing = c.name.ends_with("no rows") && c.op != "rms_norm_weight_gradient";
        if (!faulty || nothing) {
          EXPECT_EQ(fault, "") << i.path << ": " << c.name;
        } else {
          EXPECT_NE(fault, "") << i.path << ": " << c.name << ": the fault was not seen";
        }
      }
    }
    EXPECT_GT(tester.replayed(), 40);
  }
}

class CudaOps : public ::testing::Test {
 protected:
  // Opened once: loading the vendor's library takes longer than most tests.
  static void SetUpTestSuite() {
    auto devices = make_cuda_backend({})->devices();
    if (devices) {
      device_ = std::move(devices->front());
    } else {
      absent_ = devices.error().message;
    }
  }
  static void TearDownTestSuite() { device_.reset(); }
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << absent_;
  }

  void expect_healthy(const Placement& placement, std::uint64_t seed) {
    OpTester tester(ops_, *device_);
    for (const OpCase& c : op_cases()) {
      int taken = 0;
      for (const Implementation& i : device_->implementations()) {
        if (i.op != c.op || (c.op == "cast" && i.input != c.inputs[0]->dtype)) continue;
        EXPECT_EQ(tester.fault_of(c, i, placement, seed), "") << i.path << ": " << c.name;
        ++taken;
      }
      EXPECT_GT(taken, 0) << c.name;
    }
    EXPECT_GT(tester.replayed(), 60);
  }

  const OpTable ops_ = make_op_table();
  inline static std::unique_ptr<Device> device_;
  inline static std::string absent_;
};

TEST_F(CudaOps, AreHealthyWithoutGaps) {
  expect_healthy({}, 1);
}

TEST_F(CudaOps, AreHealthyWithGapsBetweenRows) {
  expect_healthy({.pad = 5}, 2);
}

TEST_F(CudaOps, AreHealthyInViews) {
  expect_healthy({.pad = 3, .views = true}, 3);
}

/// Runs one built case; the outputs by port.
std::vector<Tensor> outputs_of(Device& device, const BuiltCase& built, const std::string& path) {
  auto execution = Execution::load(device, built.program, {path}, built.inputs);
  EXPECT_TRUE(execution) << (execution ? "" : execution.error().message);
  if (!execution) return {};
  const auto run = execution->run();
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  if (!run) return {};
  std::vector<Tensor> outputs;
  for (const TensorId id : built.program.calls[0].outputs) outputs.push_back(run->tensors.at(id));
  return outputs;
}

TEST_F(CudaOps, KeysThatTakeNoPartAreNotRead) {
  constexpr std::int64_t seq = 150, dim = 8;
  for (const char* op : {"attention", "attention_backward"})
    for (const std::int64_t causal : {0, 1}) {
      OpCase c{op,
               op,
               {{"heads", std::int64_t{2}},
                {"kv_heads", std::int64_t{1}},
                {"seq", seq},
                {"causal", causal},
                {"scale", 0.3}},
               {PortCase{{seq, 2 * dim}}, PortCase{{seq, dim}}, PortCase{{seq, dim}},
                PortCase{{seq}, Content::mask, 2, DType::i32}}};
      if (std::string_view(op) == "attention_backward") c.inputs.push_back(PortCase{{seq, 2 * dim}});
      auto built = build(c, *ops_.find(op), {}, 5);
      ASSERT_TRUE(built) << built.error().message;
      const std::vector<TensorId> ids = built->program.calls[0].inputs;
      const auto before = outputs_of(*device_, *built, "direct_f32");
      const Tensor& valid = built->inputs.at(ids[3]);
      for (std::int64_t j = 0; j < seq; ++j)
        if (valid.value(j) == 0)
          for (const TensorId id : {ids[1], ids[2]})
            for (std::int64_t col = 0; col < dim; ++col)
              built->inputs.at(id).set_value(j * dim + col, std::numeric_limits<double>::quiet_NaN());
      const auto after = outputs_of(*device_, *built, "direct_f32");
      ASSERT_EQ(before.size(), after.size());
      for (std::size_t port = 0; port < before.size(); ++port)
        for (std::int64_t i = 0; i < before[port].elements(); ++i) {
          ASSERT_EQ(before[port].bits(i), after[port].bits(i)) << op << ", output " << port << ", " << i;
          ASSERT_FALSE(std::isnan(after[port].value(i)));
          // The first two queries have no key when causal; the first two keys no query that may see them.
          const bool none = (port == 0 && causal == 1 && i < 2 * 2 * dim) || (port > 0 && i < 2 * dim);
          ASSERT_TRUE(!none || after[port].value(i) == 0) << op << ", output " << port << ", " << i;
        }
    }
}

TEST_F(CudaOps, LaterTokensDoNotReachEarlierOnes) {
  constexpr std::int64_t seq = 20, dim = 6;
  const OpCase c{"attention",
                 "attention",
                 {{"heads", std::int64_t{1}}, {"kv_heads", std::int64_t{1}}, {"seq", seq}, {"scale", 1.0}},
                 {PortCase{{2 * seq, dim}}, PortCase{{2 * seq, dim}}, PortCase{{2 * seq, dim}}}};
  auto built = build(c, *ops_.find("attention"), {}, 6);
  ASSERT_TRUE(built) << built.error().message;
  const std::int64_t at = 13;  // a NaN in V of the first batch entry's token 13
  built->inputs.at(2).set_value(at * dim + 2, std::numeric_limits<double>::quiet_NaN());
  const auto o = outputs_of(*device_, *built, "direct_f32");
  ASSERT_EQ(o.size(), 1U);
  for (std::int64_t i = 0; i < o[0].elements(); ++i) {
    const std::int64_t row = i / dim, col = i % dim;
    EXPECT_EQ(std::isnan(o[0].value(i)), row >= at && row < seq && col == 2) << row << ", " << col;
  }
}

TEST_F(CudaOps, IndicesOutsideTheVocabularyShow) {
  for (const std::int64_t wrong : {-1, 11}) {
    const OpCase c{
        "embedding", "embedding", {}, {PortCase{{11, 4}}, PortCase{{3}, Content::indices, 11, DType::i32}}};
    auto built = build(c, *ops_.find("embedding"), {}, 7);
    ASSERT_TRUE(built);
    built->inputs.at(1).set_value(1, static_cast<double>(wrong));
    const auto y = outputs_of(*device_, *built, "direct_f32");
    ASSERT_EQ(y.size(), 1U);
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(y[0].value(i)), i / 4 == 1) << i;

    const OpCase loss{"loss",
                      "softmax_cross_entropy",
                      {},
                      {PortCase{{3, 11}}, PortCase{{3}, Content::indices, 11, DType::i32}}};
    built = build(loss, *ops_.find("softmax_cross_entropy"), {}, 7);
    ASSERT_TRUE(built);
    built->inputs.at(1).set_value(1, static_cast<double>(wrong));
    const auto l = outputs_of(*device_, *built, "direct_f32");
    ASSERT_EQ(l.size(), 1U);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(std::isnan(l[0].value(i)), i == 1) << i;
  }
}

TEST_F(CudaOps, TraceScan) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32})
    EXPECT_EQ(scan_mismatch(*device_, dtype, fmt::format("direct_{}", name_of(dtype))), "");
}

}  // namespace
}  // namespace parity::cuda
