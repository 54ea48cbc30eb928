// Faulty kernels and data that overflows, on the emulated device: the right call, timestep, element and
// cause.
#include "harness/bisect/program_bisection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/bisect/bisect_testing.hpp"
#include "harness/bisect/scan_testing.hpp"
#include "harness/ladder/restated_device.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

using bisecting::Bench;
using bisecting::set_element;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Bisect, AHealthyTrainingStepIsHealthy) {
  Bench bench;
  const auto report = bench.bisect("training_step batch=2 seq=4 width=8 steps=3 optimizer=adamw");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::healthy);
  EXPECT_FALSE(report->producer);
  EXPECT_EQ(report->steps, 3);
  EXPECT_EQ(report->judged_steps, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(report->cost.runs, 4);  // the first step twice
}

TEST(Bisect, ANaNInOneTimestepIsFoundThere) {
  Bench bench;
  bench.spoil("gru_gates", "t6_h", set_element(0, 5, nan));
  const auto report = bench.bisect("gru_sequence steps=9 batch=2 inputs=3 hidden=4");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, BisectReport::Kind::not_finite);
  const Producer& p = *report->producer;
  EXPECT_EQ(p.op, "gru_gates");
  EXPECT_EQ(p.place.timestep, 6);
  EXPECT_EQ(p.index, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(p.examined.elements, 1);
  EXPECT_EQ(p.examined.cause.kind, CauseKind::kernel);
  EXPECT_TRUE(std::isfinite(p.examined.exact));
  EXPECT_GT(report->passed_on_count, 0);
}

TEST(Bisect, AnElementThatIsNeverWrittenIsNamed) {
  Bench bench;
  bench.spoil("linear", "", [](const OpCall& call, const Program& program, HostMemory& memory) {
    Tensor t = *memory.tensor(call.outputs[0]);
    t.set_bits(t.elements() - 1, poison_bits(program.spec(call.outputs[0]).dtype, Poison::unwritten));
    ASSERT_TRUE(memory.assign(call.outputs[0], t));
  });
  const auto report = bench.bisect("linear m=5 n=7 k=9");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->producer);
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::never_written);
  EXPECT_EQ(report->producer->index, (std::vector<std::int64_t>{4, 6}));
}

TEST(Bisect, AStoreThatOverflowsIsTheDatasAffair) {
  Bench bench;
  bench.path_ = "sequential_f16_f32";
  const auto report = bench.bisect("linear m=5 n=7 k=64 in=f16 acc=f32 out=f16 fill=overflow");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->producer);
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::store_overflow);
  EXPECT_NE(report->producer->examined.cause.evidence.find("65504"), std::string::npos)
      << report->producer->examined.cause.evidence;
  EXPECT_EQ(report->producer->alone, "run by itself on the same inputs it gives the same bits");
}

// AdamW goes wrong at the 12th update and after it: its bias correction says which update it is.
TEST(Bisect, AWrongFiniteValueIsFoundAtTheStepWhereItBegins) {
  Bench bench;
  bench.spoil("adamw", "", [](const OpCall& call, const Program&, HostMemory& memory) {
    const double correction = memory.tensor(call.inputs[4])->value(0);
    if (correction < 1 - std::pow(0.9, 11.5)) return;
    Tensor p = *memory.tensor(call.outputs[0]);
    p.set_value(0, p.value(0) * 1.01);
    ASSERT_TRUE(memory.assign(call.outputs[0], p));
  });
  const auto report = bench.bisect("training_step batch=2 seq=4 width=8 steps=20 optimizer=adamw");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, BisectReport::Kind::out_of_contract);
  EXPECT_EQ(report->producer->op, "adamw");
  EXPECT_EQ(report->producer->step, 11);  // the first is 0
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::wrong_value);
  EXPECT_LT(report->judged_steps.size(), 12U);
}

TEST(Bisect, AWeightThatTurnsNaNInTheOptimizerAtStep12) {
  Bench bench;
  bench.spoil("adamw", "", [](const OpCall& call, const Program&, HostMemory& memory) {
    const double correction = memory.tensor(call.inputs[4])->value(0);
    if (std::fabs(correction - (1 - std::pow(0.9, 12))) > 1e-3) return;
    Tensor p = *memory.tensor(call.outputs[0]);
    p.set_value(0, nan);
    ASSERT_TRUE(memory.assign(call.outputs[0], p));
  });
  const auto report = bench.bisect("training_step batch=2 seq=4 width=8 steps=20 optimizer=adamw");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, BisectReport::Kind::not_finite);
  EXPECT_EQ(report->producer->op, "adamw");
  EXPECT_EQ(report->producer->step, 11);
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::kernel);
}

// A cell that lets its state grow: every number is finite until the state no longer fits into fp16, some 700
// timesteps later. The NaN's producer is the conversion; where it began is said too.
TEST(Bisect, AnExplodingStateBurstsAtTheStoreAndItsOriginIsNamed) {
  Bench bench;
  bench.path_ = "sequential_f16_f32";
  bench.spoil("gru_gates", "", [](const OpCall& call, const Program& program, HostMemory& memory) {
    Tensor h = *memory.tensor(call.outputs[0]);
    const bool first = program.spec(call.outputs[0]).name == "t0_h";
    const Tensor before = *memory.tensor(call.inputs[2]);
    for (std::int64_t i = 0; i < h.elements(); ++i) h.set_value(i, first ? 0.9 : 1.016 * before.value(i));
    ASSERT_TRUE(memory.assign(call.outputs[0], h));
  });
  const auto report = bench.bisect("gru_sequence steps=1000 batch=2 inputs=3 hidden=4 in=f16 out=f32");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, BisectReport::Kind::not_finite);
  EXPECT_EQ(report->producer->op, "cast");
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::store_overflow);
  ASSERT_TRUE(report->producer->place.timestep);
  EXPECT_NEAR(static_cast<double>(*report->producer->place.timestep), std::log(65504 / 0.9) / std::log(1.016),
              20);
  ASSERT_TRUE(report->before);
  EXPECT_EQ(report->before->op, "gru_gates");
  EXPECT_EQ(report->before->place.timestep, 0);
  const auto growth = std::ranges::find(report->growth, std::string("h"), &Growth::tensor);
  ASSERT_NE(growth, report->growth.end());
  EXPECT_EQ(growth->timesteps.size(), 1000U);
  EXPECT_GT(growth->timesteps[690].largest, 1e4F);
}

TEST(Bisect, AnInputThatHoldsNaNIsNoFaultOfACall) {
  Bench bench;
  const auto report =
      bench.bisect("gru_cell batch=3 inputs=4 hidden=5 variant=linear_before_reset fill=nan_cone");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::given);
  EXPECT_FALSE(report->producer);
  EXPECT_EQ(report->given.size(), 1U);
}

/// The CPU device, whose programs forget their state between steps.
class Forgetful final : public RestatedDevice {
 public:
  using RestatedDevice::RestatedDevice;
  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override {
    struct Kept final : Session {
      std::unique_ptr<Session> inner;
      Result<void> write(TensorId id, const Tensor& tensor) override { return inner->write(id, tensor); }
      Result<RunTiming> run() override { return inner->run(); }
      Result<Tensor> read(TensorId id) override { return inner->read(id); }
      Result<void> advance() override { return {}; }
      Result<std::vector<GuardDamage>> check_guards() override { return inner->check_guards(); }
    };
    auto session = device().load(program, paths);
    if (!session) return session;
    auto kept = std::make_unique<Kept>();
    kept->inner = *std::move(session);
    return std::unique_ptr<Session>(std::move(kept));
  }
};

TEST(Bisect, StateThatIsNotCarriedIsNamedFromScansAlone) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto devices = make_cpu_backend(ops)->devices();
  Forgetful device(*(*devices)[0]);
  const Case c = *parse_case("training_step batch=2 seq=4 width=8 steps=3 optimizer=adamw", stages);
  const auto report = bisect_program({ops, stages, device, c, "sequential_f32"}, {.judge = false});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::device_failed);
  EXPECT_NE(report.error().message.find("step 1 does not begin with the state"), std::string::npos)
      << report.error().message;
}

TEST(Bisect, IntegersAreJudgedThoughAlwaysFinite) {
  Bench bench;
  bench.path_ = "exact_i8_i32";
  const std::string text = "gemm m=5 n=7 k=180224 in=i8 fill=overflow";  // sums leave int32
  auto report = bench.bisect(text);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::healthy);
  EXPECT_EQ(report->judged_steps, std::vector<std::int64_t>{0});
  ASSERT_EQ(report->growth.size(), 1U);
  EXPECT_GT(report->growth[0].steps[0].largest, 0x1p24F);

  bench.spoil("gemm", "", [](const OpCall& call, const Program&, HostMemory& memory) {
    Tensor t = *memory.tensor(call.outputs[0]);
    t.set_value(9, t.value(9) > 0 ? t.value(9) - 1 : t.value(9) + 1);
    ASSERT_TRUE(memory.assign(call.outputs[0], t));
  });
  report = bench.bisect(text);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, BisectReport::Kind::out_of_contract);
  EXPECT_EQ(report->producer->index, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(report->producer->examined.elements, 1);
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::wrong_value);
}

TEST(Bisect, AnIntegerThatIsNeverWrittenIsNamed) {
  Bench bench;
  bench.path_ = "exact_i8_i32";
  bench.spoil("gemm", "", [](const OpCall& call, const Program&, HostMemory& memory) {
    Tensor t = *memory.tensor(call.outputs[0]);
    t.set_bits(30, poison_bits(DType::i32, Poison::unwritten));
    ASSERT_TRUE(memory.assign(call.outputs[0], t));
  });
  const auto report = bench.bisect("gemm m=5 n=7 k=9 in=i8");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->producer);
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::never_written);
  EXPECT_EQ(report->producer->index, (std::vector<std::int64_t>{4, 2}));
}

TEST(Bisect, IntegersThatVaryAreSeenByTheirHashes) {
  Bench bench;
  bench.path_ = "exact_i8_i32";
  bench.spoil("gemm", "", [run = 0](const OpCall& call, const Program&, HostMemory& memory) mutable {
    Tensor t = *memory.tensor(call.outputs[0]);
    t.set_value(3, ++run);
    ASSERT_TRUE(memory.assign(call.outputs[0], t));
  });
  const auto report = bench.bisect("gemm m=5 n=7 k=9 in=i8", {.judge = false});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::varies);
  EXPECT_EQ(report->varying, std::vector<std::string>{"D"});
}

TEST(TraceScan, TheEmulatedDevicesWordsAreTheHosts) {
  const OpTable ops = make_op_table();
  const auto devices = make_cpu_backend(ops)->devices();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32})
    EXPECT_EQ(scan_mismatch(*(*devices)[0], dtype, fmt::format("from_{}", name_of(dtype))), "");
}

TEST(TracePlace, IsReadOffTheName) {
  const TracePlace p = place_of("l2.t14_u");
  EXPECT_EQ(p.layer, 2);
  EXPECT_EQ(p.timestep, 14);
  EXPECT_EQ(p.name, "u");
  EXPECT_EQ(place_of("d_t3_h").name, "d_h");
  EXPECT_FALSE(place_of("loss").timestep);
  EXPECT_EQ(place_of("t_all").name, "t_all");
}

}  // namespace
}  // namespace parity
