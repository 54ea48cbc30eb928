#include "harness/probe/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/numerics/tree_order.hpp"
#include "harness/probe/integer_probes.hpp"
#include "harness/tensor/convert.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

using Kind = SummationOrder::Kind;
using Outcome = Revelation::Outcome;

class Probe : public ::testing::Test {
 protected:
  const Implementation& find(Device& device, std::string_view op, std::string_view path) {
    for (const Implementation& i : device.implementations())
      if (i.op == op && i.path == path) return i;
    ADD_FAILURE() << "no " << op << " " << path;
    return device.implementations().front();
  }
  ProbeRecord probe(Device& device, std::string_view op, std::string_view path, std::int64_t terms = 40,
                    const RevealOptions& options = {}) {
    auto record = probe_implementation(ops, device, find(device, op, path),
                                       {.terms = terms, .rows = 64, .cols = 5}, options);
    EXPECT_TRUE(record) << op << " " << path << ": " << (record ? "" : record.error().message);
    return record ? *record : ProbeRecord{};
  }

  OpTable ops = make_op_table();
  std::unique_ptr<Backend> backend = make_cpu_backend(ops);
  std::vector<std::unique_ptr<Device>> devices = *backend->devices();
  Device& cpu = *devices.front();
};

TEST_F(Probe, EveryPathOfTheCpuAddsAsItDeclaresAndIsReplayed) {
  for (const ProbeOp& op : probe_ops()) {
    int seen = 0;
    for (const Implementation& i : cpu.implementations()) {
      if (i.op != op.op || sums_integers(i.contract)) continue;
      ++seen;
      const ProbeRecord record = probe(cpu, i.op, i.path, 20, {.repeats = 1, .passes = 1});
      for (const ReductionFinding& f : record.reductions) {
        ASSERT_EQ(f.revelation.outcome, Outcome::revealed)
            << i.op << " " << i.path << ": " << f.name << ": " << f.revelation.why;
        EXPECT_EQ(f.revelation.tree->text(), tree_of(*i.contract.accumulation, f.terms)->text())
            << i.op << " " << i.path << ": " << f.name;
        EXPECT_EQ(f.agrees, true);
      }
      EXPECT_TRUE(record.revealed());
      EXPECT_FALSE(record.any_order());
      EXPECT_FALSE(record.contradicts());
      if (i.op == "gemm" || i.op == "linear" || i.op == "gradient_reduction") {
        ASSERT_TRUE(record.replay.result) << record.replay.note;
        EXPECT_TRUE(record.replay.result->all_equal())
            << i.op << " " << i.path << ": " << record.replay.result->equal << " of "
            << record.replay.result->compared << " " << record.replay.result->model;
      } else {
        EXPECT_FALSE(record.replay.result);
      }
    }
    EXPECT_GT(seen, 0) << op.op;
  }
}

TEST_F(Probe, IntegersHaveNoOrderAndWrapAround) {
  const auto record = probe_implementation(ops, cpu, find(cpu, "gemm", "exact_i8_i32"), {40, 4, 2}, {});
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->reductions.size(), 1u);
  const ReductionFinding& finding = record->reductions.front();
  EXPECT_EQ(finding.revelation.outcome, Outcome::any_order);
  EXPECT_EQ(finding.revelation.questions, 8);
  EXPECT_EQ(finding.agrees, true);
  EXPECT_FALSE(record->contradicts());
  EXPECT_TRUE(record->any_order());
  EXPECT_FALSE(record->revealed());
  EXPECT_NE(finding.revelation.why.find("exact in any order"), std::string::npos) << finding.revelation.why;
  EXPECT_FALSE(record->replay.result);
}

TEST_F(Probe, IntegersThatSaturateAreAContradiction) {
  const auto honest = find(cpu, "gemm", "exact_i8_i32");
  for (const bool saturates : {true, false}) {
    HostPath path{honest, nullptr};
    path.kernel = [saturates](const OpCall& call, const Program&, HostMemory& memory) -> Result<void> {
      const auto plain = make_exact_arithmetic();
      const Value a = plain->load(*memory.tensor(call.inputs[0]));
      Value b = plain->load(*memory.tensor(call.inputs[1]));
      if (!saturates)  // but reads one factor as unsigned
        for (double& x : b.v) x += x < 0 ? 256 : 0;
      Tensor d = *memory.tensor(call.outputs[0]);
      narrow(plain->matmul(a, false, b, false).v, d);  // clamps
      return memory.assign(call.outputs[0], d);
    };
    std::vector<HostPath> paths;
    paths.push_back(std::move(path));
    const auto device = make_host_device({"host:0", "host", "planted", "", "", {}}, std::move(paths));
    const auto finding = probe_integers(*device, device->implementations().front(), {40, 4, 1}, 1);
    ASSERT_TRUE(finding) << finding.error().message;
    EXPECT_EQ(finding->agrees, false);
    const std::string& said = finding->contradiction;
    EXPECT_EQ(said.find("it saturates") != said.npos, saturates) << said;
  }
}

TEST_F(Probe, AttentionHasThreeReductions) {
  const ProbeRecord record = probe(cpu, "attention", "strided_f32", 20);
  ASSERT_EQ(record.reductions.size(), 3u);
  for (const ReductionFinding& f : record.reductions) EXPECT_EQ(f.order, "strided 8") << f.name;
}

/// A gemm path that declares one order and adds in another one.
std::unique_ptr<Device> other_order(const OpTable& ops, Device& cpu, const Accumulation& real) {
  const auto honest = std::ranges::find_if(cpu.implementations(), [](const Implementation& i) {
    return i.op == "gemm" && i.path == "sequential_f32";
  });
  HostPath path{*honest, nullptr};
  ArithmeticModel model = honest->contract;
  model.accumulation = real;
  path.kernel = emulated_kernel(ops, model);
  return make_host_device({"cpu:9", "cpu", "planted", "", "", {}}, {path});
}

TEST_F(Probe, AnotherOrderThanDeclaredIsAFinding) {
  const auto device = other_order(ops, cpu, {{Kind::strided, 8, 0}, MultiplyAdd::fused, {}});
  const ProbeRecord record = probe(*device, "gemm", "sequential_f32");
  EXPECT_TRUE(record.contradicts());
  EXPECT_EQ(record.reductions.front().contradiction, "declared sequential; revealed strided 8");
  ASSERT_TRUE(record.replay.result);
  EXPECT_TRUE(record.replay.result->all_equal());  // in the revealed order
}

TEST_F(Probe, AnOrderWithoutANameIsReplayedAsATree) {
  const auto device = other_order(ops, cpu, {{Kind::permuted, 0, 5}, MultiplyAdd::separate, {}});
  const ProbeRecord record = probe(*device, "gemm", "sequential_f32");
  EXPECT_TRUE(record.contradicts());
  ASSERT_TRUE(record.replay.result) << record.replay.note;
  EXPECT_NE(record.replay.result->model.find("tree "), std::string::npos) << record.replay.result->model;
  EXPECT_GT(record.replay.result->equal, record.replay.result->compared * 9 / 10);
}

/// Adds forwards and backwards in turn, as a kernel with atomics might.
TEST_F(Probe, AnOrderThatChangesIsAFinding) {
  const auto honest = std::ranges::find_if(cpu.implementations(), [](const Implementation& i) {
    return i.op == "gemm" && i.path == "sequential_f32";
  });
  ArithmeticModel backwards = honest->contract;
  backwards.accumulation = Accumulation{{Kind::reversed, 0, 0}, MultiplyAdd::fused, {}};
  const HostKernel one = emulated_kernel(ops, honest->contract), two = emulated_kernel(ops, backwards);
  auto calls = std::make_shared<int>(0);
  HostPath path{*honest, [=](const OpCall& call, const Program& program, HostMemory& memory) {
                  return (*calls)++ % 2 == 0 ? one(call, program, memory) : two(call, program, memory);
                }};
  const auto device = make_host_device({"cpu:9", "cpu", "planted", "", "", {}}, {path});
  const ProbeRecord record = probe(*device, "gemm", "sequential_f32", 17);
  ASSERT_EQ(record.reductions.size(), 1u);
  EXPECT_NE(record.reductions.front().revelation.outcome, Outcome::revealed);
  EXPECT_TRUE(record.contradicts());
  EXPECT_FALSE(record.replay.result);
}

TEST_F(Probe, ModelsOfATreeTryFusedAndSeparateAndEveryFraction) {
  const Implementation& chain = find(cpu, "gemm", "sequential_f32");
  const auto sequential = tree_of(*chain.contract.accumulation, 40);
  const std::vector<ArithmeticModel> chains = models_of_tree(chain, *sequential);
  ASSERT_GE(chains.size(), 2u);
  EXPECT_EQ(chains[0].accumulation->multiply_add, MultiplyAdd::fused);
  const Implementation& core = find(cpu, "gemm", "tensor_core_f16_f32");
  const auto fused = tree_of(*core.contract.accumulation, 64);
  for (const ArithmeticModel& m : models_of_tree(core, *fused)) EXPECT_EQ(m.accumulation->adder.terms, 16);
}

TEST_F(Probe, SumsRoundedToFp16AreReplayedHoweverTheyAreRounded) {
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
    HostPath path{find(cpu, "gemm", "tensor_core_f16_f16"), nullptr};
    ArithmeticModel real = path.implementation.contract;
    real.accumulation = Accumulation{{Kind::blocked, 16, 0}, MultiplyAdd::multi_term, {8, 24, rounding}};
    path.kernel = emulated_kernel(ops, real);
    path.implementation.knowledge = OrderKnowledge::candidates;
    const auto device = make_host_device({"cpu:9", "cpu", "fp16 sums", "", "", {}}, {path});
    const ProbeRecord record = probe(*device, "gemm", "tensor_core_f16_f16", 64);
    ASSERT_TRUE(record.replay.result) << record.replay.note;
    EXPECT_TRUE(record.replay.result->all_equal()) << record.replay.result->model;
    EXPECT_EQ(record.replay.result->model.find("to nearest") != std::string::npos,
              rounding == Rounding::nearest_even)
        << record.replay.result->model;
    EXPECT_EQ(record.reductions.front().agrees, false);
  }
}

TEST_F(Probe, ALibraryThatAddsFp16InFp32IsFoundOut) {
  HostPath path{find(cpu, "gemm", "tensor_core_f16_f16"), nullptr};
  ArithmeticModel real = path.implementation.contract;
  real.precision.accumulate = DType::f32;
  real.accumulation->adder.rounding = Rounding::toward_zero;
  path.kernel = emulated_kernel(ops, real);
  const auto device = make_host_device({"cpu:9", "cpu", "fp32 sums", "", "", {}}, {path});
  const ProbeRecord record = probe(*device, "gemm", "tensor_core_f16_f16", 64);
  ASSERT_TRUE(record.replay.result) << record.replay.note;
  EXPECT_TRUE(record.replay.result->all_equal()) << record.replay.result->model;
  EXPECT_TRUE(record.replay.result->model.starts_with("f16 -> f32 -> f16")) << record.replay.result->model;
}

TEST_F(Probe, ALibraryThatLeavesTheTensorCoresOutIsFoundOut) {
  HostPath path{find(cpu, "gemm", "sequential_f32"), nullptr};
  path.kernel = emulated_kernel(ops, path.implementation.contract);
  path.implementation.knowledge = OrderKnowledge::unknown;
  path.implementation.multiply = tf32_format;
  path.implementation.contract.precision.multiply = tf32_format;
  path.implementation.replays.clear();
  const auto device = make_host_device({"cpu:9", "cpu", "no TF32", "", "", {}}, {path});
  const ProbeRecord record = probe(*device, "gemm", "sequential_f32", 128);
  ASSERT_TRUE(record.replay.result) << record.replay.note;
  EXPECT_TRUE(record.replay.result->all_equal()) << record.replay.result->model;
  EXPECT_TRUE(record.replay.result->model.starts_with("f32 -> f32")) << record.replay.result->model;
}

TEST_F(Probe, InputsNarrowedByCuttingOrRoundingAreBothTried) {
  for (const Rounding conversion : {Rounding::nearest_even, Rounding::toward_zero}) {
    const auto honest = std::ranges::find_if(cpu.implementations(), [](const Implementation& i) {
      return i.op == "gemm" && i.path == "sequential_f32";
    });
    HostPath path{*honest, nullptr};
    path.implementation.knowledge = OrderKnowledge::unknown;
    path.implementation.multiply = tf32_format;
    path.implementation.contract.precision.multiply = tf32_format;
    path.implementation.contract.multiply_rounding = Rounding::toward_zero;
    path.implementation.replays.clear();
    ArithmeticModel real = path.implementation.contract;
    real.multiply_rounding = conversion;
    real.accumulation = Accumulation{{Kind::blocked, 32, 0}, MultiplyAdd::multi_term, {8, 25}};
    path.kernel = emulated_kernel(ops, real);
    const auto device = make_host_device({"cpu:9", "cpu", "TF32", "", "", {}}, {path});
    const ProbeRecord record = probe(*device, "gemm", "sequential_f32", 128);
    EXPECT_EQ(record.reductions.front().order, "blocked 32, fused 8+1");
    ASSERT_TRUE(record.replay.result) << record.replay.note;
    EXPECT_TRUE(record.replay.result->all_equal()) << record.replay.result->model;
    EXPECT_EQ(record.replay.result->model.starts_with("f32 cut to tf32"),
              conversion == Rounding::toward_zero);
  }
}

}  // namespace
}  // namespace parity
