// Two implementations of a program side by side: noise is told from a call that breaks its contract.
#include "harness/bisect/against.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/bisect/bisect_testing.hpp"

namespace parity::bisecting {
namespace {

using Outcome = AgainstReport::Kind;

const char* const training = "training_step batch=2 seq=4 width=8 steps=9 optimizer=adamw";

TEST(Against, TheSamePathTwiceIsEqual) {
  Bench bench;
  const auto report = bench.against(training, "sequential_f32");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, Outcome::equal);
  EXPECT_FALSE(report->begins);
  EXPECT_TRUE(report->judged_steps.empty());
  EXPECT_EQ(report->cost.runs, 18);
}

TEST(Against, AnotherOrderIsNoiseThatBeginsAtAReduction) {
  Bench bench;
  const auto report = bench.against(training, "pairwise_f32");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, Outcome::noise);
  EXPECT_FALSE(report->first);
  EXPECT_FALSE(report->second);
  ASSERT_TRUE(report->begins);
  EXPECT_EQ(report->begins->step, 0);
  EXPECT_NE(report->begins->first_path, report->begins->second_path);
  EXPECT_GT(report->begins->differing, 0);
  ASSERT_TRUE(report->widest);
  EXPECT_GT(report->widest->part, 0);
  EXPECT_LE(report->widest->part, 1);
  EXPECT_EQ(report->judged_steps, (std::vector<std::int64_t>{0, 1, 2, 4, 8}));
  EXPECT_FALSE(report->drift.empty());
}

// The other order would hide the fault from a comparison of numbers: by then every bit differs.
TEST(Against, AFaultAmidNoiseIsNamedWithItsSide) {
  Bench bench;
  bench.spoil("adamw", "", [](const OpCall& call, const Program&, HostMemory& memory) {
    if (memory.tensor(call.inputs[4])->value(0) < 1 - std::pow(0.9, 6.5)) return;
    Tensor p = *memory.tensor(call.outputs[0]);
    if (p.elements() < 4) return;
    p.set_value(3, p.value(3) + 1e-4);
    ASSERT_TRUE(memory.assign(call.outputs[0], p));
  });
  const auto report = bench.against(training, "pairwise_f32");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, Outcome::diverges);
  EXPECT_EQ(report->begins->step, 0);
  ASSERT_TRUE(report->divergence);
  EXPECT_EQ(report->divergence->op, "adamw");
  EXPECT_EQ(report->divergence->step, 6);  // the seventh update
  EXPECT_GT(report->divergence->part, 1);
  ASSERT_TRUE(report->first);
  EXPECT_FALSE(report->second);
  EXPECT_EQ(report->first->op, "adamw");
  EXPECT_EQ(report->first->examined.element, 3);
  EXPECT_EQ(report->first->step, 6);
}

TEST(Against, TheSecondSideMayBeTheWrongOne) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  Bench bench;
  bench.spoil("linear", "", set_element(0, 5, 7.0));
  const auto wrong = bench.spoilt();
  const auto healthy = make_cpu_backend(ops)->devices();
  const Case c = *parse_case("linear m=5 n=7 k=64", stages);
  const auto report = bisect_against({ops, stages, *(*healthy)[0], c, "sequential_f32"},
                                     {ops, stages, *wrong, c, "pairwise_f32"}, {});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, Outcome::diverges);
  EXPECT_FALSE(report->first);
  ASSERT_TRUE(report->second);
  EXPECT_EQ(report->second->path, "pairwise_f32");
  EXPECT_EQ(report->divergence->index, (std::vector<std::int64_t>{0, 5}));
}

// No step is judged in between but for the NaN that one side has.
TEST(Against, ANaNOfOneSideIsLookedAtWhereItComes) {
  Bench bench;
  bench.spoil("adamw", "", [](const OpCall& call, const Program&, HostMemory& memory) {
    if (memory.tensor(call.inputs[4])->value(0) < 1 - std::pow(0.9, 5.5)) return;
    Tensor p = *memory.tensor(call.outputs[0]);
    p.set_value(0, std::numeric_limits<double>::quiet_NaN());
    ASSERT_TRUE(memory.assign(call.outputs[0], p));
  });
  const auto report = bench.against(training, "sequential_f32");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, Outcome::diverges);
  ASSERT_TRUE(report->first);
  EXPECT_EQ(report->first->op, "adamw");
  EXPECT_EQ(report->first->step, 5);
  EXPECT_EQ(report->first->examined.cause.kind, CauseKind::kernel);
}

TEST(Against, APathThatIsNotLegalIsNoComparison) {
  Bench bench;
  for (const char* path : {"no_such_path", "sequential_f16_f32"}) {
    const auto report = bench.against("linear m=5 n=7 k=64", path);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind, ErrorKind::unsupported);
    EXPECT_NE(report.error().message.find(path), std::string::npos) << report.error().message;
  }
}

}  // namespace
}  // namespace parity::bisecting
