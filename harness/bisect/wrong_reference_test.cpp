// Wrong references: no device is blamed by one.
#include <gtest/gtest.h>

#include "harness/bisect/bisect_testing.hpp"
#include "harness/bisect/mistaken_op.hpp"
#include "harness/ladder/runner.hpp"

namespace parity::bisecting {
namespace {

using Mistake = MistakenOp::Mistake;

/// A right device, and references of which that of one op makes a mistake.
struct WrongReference {
  WrongReference(const std::string& op, const Mistake& mistake)
      : right(make_op_table()),
        stages(make_stage_table(right)),
        backend(make_cpu_backend(right)),
        devices(*backend->devices()),
        wrong(with_mistake(right, op, mistake)) {}

  BisectTarget target(const std::string& text, const std::string& path = "sequential_f32") const {
    return {wrong, stages, *devices[0], *parse_case(text, stages), path};
  }

  OpTable right;
  StageTable stages;
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<Device>> devices;
  OpTable wrong;
};

void scale(std::vector<Value>& values, double factor) {
  for (double& v : values[0].v) v *= factor;
}

TEST(WrongReference, OfWhichOneEvaluationIsOff) {
  const WrongReference w("linear", [](std::vector<Value>& values) {
    if (values[0].tracked()) scale(values, 1.001);
  });
  const auto report = bisect_program(w.target("linear m=5 n=7 k=9"), {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::reference_at_fault);
  ASSERT_TRUE(report->producer);
  EXPECT_EQ(report->producer->examined.cause.kind, CauseKind::reference);
  EXPECT_NE(report->producer->examined.cause.evidence.find("exact and tracked"), std::string::npos)
      << report->producer->examined.cause.evidence;
}

TEST(WrongReference, OfWhichOnePlaceIsOffInEveryEvaluation) {
  const WrongReference w("linear", [](std::vector<Value>& values) { values[0].v[3] *= 1.01; });
  const auto report = bisect_program(w.target("linear m=5 n=7 k=9"), {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::reference_at_fault);
  EXPECT_NE(report->producer->examined.cause.evidence.find("permuted"), std::string::npos)
      << report->producer->examined.cause.evidence;
}

TEST(WrongReference, OfWhichAllIsOffDisagreesWithItsGradient) {
  const WrongReference w("gru_gates", [](std::vector<Value>& values) { scale(values, 1.01); });
  const auto report =
      bisect_program(w.target("gru_cell batch=3 inputs=4 hidden=5 variant=linear_before_reset"), {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::reference_at_fault);
  EXPECT_NE(report->producer->examined.cause.evidence.find("gradient rule"), std::string::npos)
      << report->producer->examined.cause.evidence;
}

// An optimizer's update has no gradient rule, and its elements are alike: a formula of its own says it.
TEST(WrongReference, OfAnOptimizerDisagreesWithAFormula) {
  for (const auto& [op, text] : {std::pair{"adamw", "adamw rows=3 cols=5 step=7"},
                                 {"muon_momentum", "muon rows=3 cols=5"},
                                 {"frobenius_normalize", "muon rows=3 cols=5"}}) {
    const WrongReference w(op, [](std::vector<Value>& values) { scale(values, 1.001); });
    const auto report = bisect_program(w.target(text), {});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->kind, BisectReport::Kind::reference_at_fault) << op;
    ASSERT_TRUE(report->producer) << op;
    EXPECT_NE(report->producer->examined.cause.evidence.find("formula"), std::string::npos)
        << report->producer->examined.cause.evidence;
  }
}

TEST(WrongReference, BlamesNeitherSideOfAComparison) {
  const WrongReference w("linear", [](std::vector<Value>& values) { scale(values, 1.001); });
  const auto report =
      bisect_against(w.target("linear m=5 n=7 k=64"), w.target("linear m=5 n=7 k=64", "pairwise_f32"), {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, AgainstReport::Kind::reference_at_fault);
}

TEST(WrongReference, MakesARunCrashAndNotFail) {
  const WrongReference w("linear", [](std::vector<Value>& values) { scale(values, 1.001); });
  RunOptions options;
  options.order_effects = false;
  Runner runner(w.wrong, w.stages, *w.devices[0], options);
  const Record record = runner.run(*parse_case("linear m=5 n=7 k=9", w.stages), "sequential_f32");
  EXPECT_EQ(record.verdict, Verdict::crash) << record.reason;
  EXPECT_NE(record.reason.find("the reference of linear is at fault"), std::string::npos) << record.reason;
}

// The checks are made and find nothing where it is the kernel that is wrong.
TEST(WrongReference, IsNoneWhereTheKernelIsWrong) {
  Bench bench;
  bench.spoil("linear", "", set_element(0, 3, 7.0));
  const auto report = bench.bisect("linear m=5 n=7 k=9");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->kind, BisectReport::Kind::out_of_contract);
  EXPECT_GE(report->producer->checks.size(), 5U);
}

}  // namespace
}  // namespace parity::bisecting
