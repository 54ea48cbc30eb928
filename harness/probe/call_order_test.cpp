#include "harness/probe/call_order.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/runner.hpp"
#include "harness/ladder/stage.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

/// A vendor's path whose order is on nobody's list, and what it does to a result besides.
class CallOrder : public ::testing::Test {
 protected:
  using Change = std::function<void(Tensor&)>;

  std::unique_ptr<Device> vendor(const char* op, const char* path, const Change& change = {},
                                 SummationOrder order = {SummationOrder::Kind::blocked, 24, 0}) {
    HostPath vendor;
    for (const Implementation& i : cpu.implementations())
      if (i.op == op && i.path == path) vendor.implementation = i;
    EXPECT_EQ(vendor.implementation.path, path);
    ArithmeticModel real = vendor.implementation.contract;
    real.accumulation->order = order;
    vendor.implementation.knowledge = OrderKnowledge::candidates;
    vendor.implementation.replays = {vendor.implementation.contract};
    vendor.implementation.contract.accumulation.reset();
    vendor.kernel = [kernel = emulated_kernel(ops, real), change](const OpCall& call, const Program& program,
                                                                  HostMemory& memory) -> Result<void> {
      auto ran = kernel(call, program, memory);
      if (!ran || !change) return ran;
      auto result = memory.tensor(call.outputs.front());
      if (!result) return tl::unexpected(result.error());
      change(*result);
      return memory.assign(call.outputs.front(), *result);
    };
    return make_host_device({"cpu:9", "cpu", "vendor", "", "", {}}, {vendor});
  }

  Record run(Device& device, const std::string& text, const std::string& path, bool reveals) {
    RunOptions options{.repeats = 1, .order_effects = false};
    if (reveals) options.reveal = make_reveal_order();
    Runner runner(ops, stages, device, std::move(options));
    const auto c = parse_case(text, stages);
    EXPECT_TRUE(c) << (c ? "" : c.error().message);
    return runner.run(*c, path);
  }

  OpTable ops = make_op_table();
  StageTable stages = make_stage_table(ops);
  std::unique_ptr<Backend> backend = make_cpu_backend(ops);
  std::vector<std::unique_ptr<Device>> devices = *backend->devices();
  Device& cpu = *devices.front();
};

TEST_F(CallOrder, IsFoundInEveryLayout) {
  struct Trial {
    const char *op, *path, *text;
  };
  for (const Trial& t : std::initializer_list<Trial>{
           {"gemm", "sequential_f32", "gemm m=9 n=7 k=65 in=f32 acc=f32 out=f32"},
           {"gemm", "sequential_f32", "gemm m=7 n=9 k=65 in=f32 acc=f32 out=f32"},
           {"gemm", "sequential_f32", "gemm m=1 n=40 k=65 in=f32 acc=f32 out=f32"},
           {"gemm", "sequential_f32", "gemm m=9 n=7 k=65 ta=t in=f32 acc=f32 out=f32"},
           {"gemm", "sequential_f32",
            "gemm m=7 n=9 k=65 tb=t pad_a=3 pad_b=1 pad_d=2 in=f32 acc=f32 out=f32"},
           {"gemm", "sequential_f32", "gemm m=7 n=9 k=65 ta=t tb=t batch=2 in=f32 acc=f32 out=f32"},
           {"gemm", "sequential_f32", "gemm m=9 n=7 k=65 alpha=0.5 beta=-1.5 in=f32 acc=f32 out=f32"},
           {"gemm", "sequential_f16_f32", "gemm m=9 n=7 k=65 in=f16 acc=f32 out=f16"},
           {"gemm", "sequential_bf16_f32", "gemm m=50 n=30 k=300 in=bf16 acc=f32 out=bf16 fill=cancelling"},
           {"linear", "sequential_f32", "linear m=9 n=12 k=65 in=f32 acc=f32 out=f32"},
           {"linear", "sequential_f32",
            "linear m=9 n=7 k=65 bias=n activation=relu in=f32 acc=f32 out=f32"}}) {
    const auto device = vendor(t.op, t.path);
    const Record unasked = run(*device, t.text, t.path, false), asked = run(*device, t.text, t.path, true);
    ASSERT_EQ(asked.outputs.size(), 1u) << t.text << ": " << asked.reason;
    EXPECT_EQ(asked.verdict, Verdict::pass) << t.text << ": " << asked.reason;
    const ReplayResult& replay = asked.outputs[0].judgement.replay;
    EXPECT_TRUE(replay.revealed) << t.text << ": " << replay.note;
    EXPECT_TRUE(replay.all_equal()) << t.text;
    EXPECT_FALSE(unasked.outputs[0].judgement.replay.revealed);
    EXPECT_TRUE(asked.outputs[0].power.missed.empty()) << t.text;
  }
}

/// Sums that cancel prove nothing where any order may have been taken; every bit of one order does.
TEST_F(CallOrder, GivesTrustWhereBoundsGiveNone) {
  const auto device = vendor("gemm", "sequential_f32");
  const std::string text = "gemm m=48 n=40 k=96 in=f32 acc=f32 out=f32 fill=cancelling";
  EXPECT_EQ(run(*device, text, "sequential_f32", false).verdict, Verdict::untrusted);
  const Record asked = run(*device, text, "sequential_f32", true);
  EXPECT_EQ(asked.verdict, Verdict::pass) << asked.reason;
  // Nobody has to be asked where a candidate gives every bit.
  const auto expected = vendor("gemm", "sequential_f32", {}, {});
  EXPECT_EQ(run(*expected, text, "sequential_f32", false).verdict, Verdict::pass);
  const auto off = vendor("gemm", "sequential_f32", [](Tensor& d) { d.set_bits(5, d.bits(5) ^ 1); }, {});
  EXPECT_EQ(run(*off, text, "sequential_f32", false).verdict, Verdict::untrusted);
}

/// A library may take no tensor core for a sum of one term, and add beta C in one step or in two.
TEST_F(CallOrder, OfOneTermLeavesFormatsAndEpilogueOpen) {
  HostPath vendor;
  for (const Implementation& i : cpu.implementations())
    if (i.op == "gemm" && i.path == "sequential_f32") vendor.implementation = i;
  ArithmeticModel real = vendor.implementation.contract;
  real.contract_epilogue = true;
  vendor.kernel = emulated_kernel(ops, real);
  vendor.implementation.knowledge = OrderKnowledge::candidates;
  vendor.implementation.multiply = tf32_format;
  ArithmeticModel& contract = vendor.implementation.contract;
  contract.precision.multiply = tf32_format;
  vendor.implementation.replays = {contract, contract};
  vendor.implementation.replays[1].contract_epilogue = true;
  contract.accumulation.reset();
  const auto device = make_host_device({"cpu:9", "cpu", "vendor", "", "", {}}, {vendor});
  for (const char* k : {"1", "2", "40"}) {
    const Record record =
        run(*device, fmt::format("gemm m=9 n=7 k={} alpha=0.3 beta=-0.7 in=f32 acc=f32 out=f32", k),
            "sequential_f32", true);
    ASSERT_EQ(record.outputs.size(), 1u) << record.reason;
    EXPECT_TRUE(record.outputs[0].judgement.replay.revealed)
        << k << ": " << record.outputs[0].judgement.replay.note;
  }
}

/// One unit in the last place of one element: within every bound, and not of the order.
TEST_F(CallOrder, ProvesOnlyWhatHasEveryBit) {
  const auto device = vendor("gemm", "sequential_f32", [](Tensor& d) {
    const double x = d.value(5);
    if (x != std::nearbyint(x)) d.set_bits(5, d.bits(5) ^ 1);
  });
  const Record record = run(*device, "gemm m=9 n=7 k=65 in=f32 acc=f32 out=f32", "sequential_f32", true);
  const ReplayResult& replay = record.outputs.front().judgement.replay;
  EXPECT_FALSE(replay.revealed);
  EXPECT_NE(replay.note.find("62 of 63 elements"), std::string::npos) << replay.note;
  EXPECT_EQ(record.verdict, Verdict::pass);
}

/// A kernel whose counts come out wrong has no order.
TEST_F(CallOrder, ThatIsNoneIsSaid) {
  const auto device = vendor("gemm", "sequential_f32", [](Tensor& d) {
    for (std::int64_t i = 0; i < d.elements(); ++i) d.set_value(i, 1.01 * d.value(i));
  });
  const Record record = run(*device, "gemm m=9 n=7 k=65 in=f32 acc=f32 out=f32", "sequential_f32", true);
  const ReplayResult& replay = record.outputs.front().judgement.replay;
  EXPECT_FALSE(replay.revealed);
  EXPECT_NE(replay.note.find("no order was revealed"), std::string::npos) << replay.note;
  EXPECT_EQ(record.verdict, Verdict::fail);
}

}  // namespace
}  // namespace parity
