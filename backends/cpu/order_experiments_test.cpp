// The order experiments follow from what ops declare; a path whose bits depend on the batch is told from one
// whose bits do not.
#include "harness/ladder/order_experiments.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

class OrderExperiments : public ::testing::Test {
 protected:
  OrderEffects effects(Device& device, const std::string& text, const std::string& path) {
    Runner runner(ops, stages, device, {.repeats = 2});
    const Record record = runner.run(*parse_case(text, stages), path);
    EXPECT_EQ(record.verdict, Verdict::pass) << record.reason;
    return record.order;
  }
  static const OrderExperiment* find(const OrderEffects& effects, std::string_view op, std::string_view what,
                                     std::string_view along) {
    for (const OrderExperiment& e : effects.experiments)
      if (e.op == op && e.what == what && e.along == along) return &e;
    return nullptr;
  }

  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const std::unique_ptr<Backend> backend = make_cpu_backend(ops);
  const std::vector<std::unique_ptr<Device>> devices = *backend->devices();
  Device& cpu = *devices.front();
};

TEST_F(OrderExperiments, AProductIsPermutedSplitMovedAndTakenApart) {
  const OrderEffects order = effects(cpu, "gemm m=20 n=30 k=300 in=f32", "sequential_f32");
  const OrderExperiment* permuted = find(order, "gemm", "permuted", "k");
  ASSERT_NE(permuted, nullptr);
  EXPECT_FALSE(permuted->spread.bit_equal);
  EXPECT_GT(permuted->spread.rms_deviation_sigma, 0.3);
  EXPECT_LT(permuted->spread.rms_deviation_sigma, 3);
  for (const char* what : {"split 2", "split 4"}) {
    ASSERT_NE(find(order, "gemm", what, "k"), nullptr) << what;
    EXPECT_FALSE(find(order, "gemm", what, "k")->spread.bit_equal);
  }
  for (const char* what : {"alone", "moved"}) {
    ASSERT_NE(find(order, "gemm", what, "rows"), nullptr) << what;
    EXPECT_TRUE(find(order, "gemm", what, "rows")->spread.bit_equal) << what;
  }
  EXPECT_TRUE(find(order, "gemm", "moved", "columns")->spread.bit_equal);
  ASSERT_TRUE(order.permutation && order.batch_invariance && order.ensemble);
  EXPECT_TRUE(order.batch_invariance->bit_equal);
}

TEST_F(OrderExperiments, SumsOfIntegersAreTheSameInEveryOrder) {
  // Every sum leaves int32, no half of one does: the host that adds the halves must wrap around too.
  const OrderEffects order = effects(cpu, "gemm m=2 n=3 k=180000 in=i8 fill=overflow", "exact_i8_i32");
  for (const char* what : {"permuted", "split 2", "split 4"}) {
    ASSERT_NE(find(order, "gemm", what, "k"), nullptr) << what;
    EXPECT_EQ(find(order, "gemm", what, "k")->port, "D");
    EXPECT_EQ(find(order, "gemm", what, "k")->spread.elements, 6);
    EXPECT_TRUE(find(order, "gemm", what, "k")->spread.bit_equal) << what;
  }
  ASSERT_TRUE(order.permutation && order.batch_invariance && order.run_to_run);
  EXPECT_TRUE(order.batch_invariance->bit_equal);
  EXPECT_FALSE(order.ensemble);
}

TEST_F(OrderExperiments, EveryOpOfACompositeProgramThatReducesTakesPartOnce) {
  Runner runner(ops, stages, cpu, {.repeats = 1});
  const Case c =
      *parse_case("attention_block batch=2 seq=5 heads=2 kv_heads=1 head_dim=8 rotary=4 gradient=y", stages);
  const OrderEffects order = runner.run(c, "sequential_f32").order;
  for (const auto& [op, along] : {std::pair{"linear", "k"},
                                  {"rms_norm", "columns"},
                                  {"attention", "columns of a head"},
                                  {"attention_backward", "columns of a head"},
                                  {"gemm", "k"}})
    EXPECT_NE(find(order, op, "permuted", along), nullptr) << op;
  EXPECT_TRUE(runner.run(c, "sequential_f32").order.experiments.empty());  // known by now
}

/// Adds in another order when it has one row only.
TEST_F(OrderExperiments, APathThatDependsOnTheBatchIsSeen) {
  const auto honest = std::ranges::find_if(cpu.implementations(), [](const Implementation& i) {
    return i.op == "gemm" && i.path == "sequential_f32";
  });
  ArithmeticModel other = honest->contract;
  other.accumulation = Accumulation{{SummationOrder::Kind::reversed, 0, 0}, MultiplyAdd::fused, {}};
  HostPath path{*honest, nullptr};
  path.implementation.knowledge = OrderKnowledge::unknown;
  path.implementation.contract.accumulation.reset();
  path.implementation.replays.clear();
  const HostKernel many = emulated_kernel(ops, honest->contract), one = emulated_kernel(ops, other);
  path.kernel = [=](const OpCall& call, const Program& program, HostMemory& memory) {
    return program.spec(call.inputs[0]).shape[0] == 1 ? one(call, program, memory)
                                                      : many(call, program, memory);
  };
  const auto device = make_host_device({"cpu:9", "cpu", "planted", "", "", {}}, {path});
  const OrderEffects order = effects(*device, "gemm m=20 n=30 k=300 in=f32", "sequential_f32");
  ASSERT_NE(find(order, "gemm", "alone", "rows"), nullptr);
  EXPECT_FALSE(find(order, "gemm", "alone", "rows")->spread.bit_equal);
  EXPECT_TRUE(find(order, "gemm", "moved", "rows")->spread.bit_equal);
}

}  // namespace
}  // namespace parity
