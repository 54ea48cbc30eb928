// Wrong references: no device is blamed by one.
#include <gtest/gtest.h>

#include <functional>

#include "harness/bisect/bisect_testing.hpp"
#include "harness/ladder/runner.hpp"

namespace parity::bisecting {
namespace {

using Mistake = std::function<void(std::vector<Value>&)>;

/// An op whose reference makes a mistake; the rest is that of a right one, which must outlive it.
class MistakenOp final : public Op {
 public:
  MistakenOp(const Op& right, Mistake mistake) : right_(right), mistake_(std::move(mistake)) {}
  std::string_view name() const override { return right_.name(); }
  std::string_view summary() const override { return right_.summary(); }
  std::span<const Port> inputs() const override { return right_.inputs(); }
  std::span<const Port> outputs() const override { return right_.outputs(); }
  Result<std::vector<Shape>> infer(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> shapes) const override {
    return right_.infer(attributes, shapes);
  }
  Result<std::vector<Value>> evaluate(Arithmetic& arithmetic, const Attributes& attributes,
                                      const PortTensors& tensors) const override {
    auto values = right_.evaluate(arithmetic, attributes, tensors);
    if (values && mistake_) mistake_(*values);
    return values;
  }
  Work work(const OpCall& call, const Program& program) const override { return right_.work(call, program); }
  std::int64_t reduction_length(const OpCall& call, const Program& program) const override {
    return right_.reduction_length(call, program);
  }
  Result<void> gradient(const OpCall& call, GradientBuilder& builder) const override {
    return right_.gradient(call, builder);
  }
  std::vector<Symmetry> symmetries(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> shapes) const override {
    return right_.symmetries(attributes, shapes);
  }
  std::optional<std::vector<Tensor>> restrict_to(const Attributes& attributes, const PortTensors& tensors,
                                                 std::span<const std::int64_t> rows,
                                                 std::span<const std::int64_t> cols) const override {
    return right_.restrict_to(attributes, tensors, rows, cols);
  }

 private:
  const Op& right_;
  Mistake mistake_;
};

/// A right device, and references of which that of one op makes a mistake.
struct WrongReference {
  WrongReference(const std::string& op, const Mistake& mistake)
      : right(make_op_table()),
        stages(make_stage_table(right)),
        backend(make_cpu_backend(right)),
        devices(*backend->devices()),
        wrong(with(op, mistake)) {}

  OpTable with(const std::string& op, const Mistake& mistake) const {
    std::vector<std::unique_ptr<const Op>> ops;
    for (const auto& each : right.all())
      ops.push_back(std::make_unique<MistakenOp>(*each, each->name() == op ? mistake : Mistake()));
    return OpTable(std::move(ops));
  }
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
