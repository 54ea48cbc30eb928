// Products judged by sampled rows and Freivalds' check: healthy ones pass, errors that no sampled row holds
// are found and located.
#include "harness/ladder/sampled_judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/execution.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

/// A case that ran on the CPU device, whose result can be damaged before it is judged.
class SampledRun {
 public:
  explicit SampledRun(const std::string& text) : case_(*parse_case(text, stages_)) {
    const Stage* stage = stages_.find(case_.stage);
    program_ = *stage->build(case_);
    exact_ = stage->exact(case_);
    assignment_ =
        *assign(*devices_->front(), program_, assignable_paths(*devices_->front(), program_).front());
    for (std::size_t i = 0; i < program_.tensors.size(); ++i)
      if (program_.tensors[i].role == TensorSpec::Role::input)
        inputs_.emplace(static_cast<TensorId>(i), *stage->fill(case_, program_, static_cast<TensorId>(i)));
    auto execution = Execution::load(*devices_->front(), program_, assignment_.paths(), inputs_);
    results_ = execution->run()->tensors;
  }

  Tensor& result() { return results_.at(program_.calls.front().outputs.front()); }
  std::int64_t columns() { return result().shape().back(); }
  void add(std::int64_t row, std::int64_t col, double what) {
    result().set_value(row * columns() + col, result().value(row * columns() + col) + what);
  }
  OutputRecord judged() {
    Confirmations confirmations(ops_, stages_, *devices_->front());
    FinishedCall call{
        &program_, 0,     ops_.find(program_.calls.front().op), assignment_.implementations.front(), &inputs_,
        &results_, exact_};
    auto records = judge_call_sampled(call, confirmations);
    EXPECT_TRUE(records) << (records ? "" : records.error().message);
    return records ? records->front() : OutputRecord{};
  }
  /// The path as if its products were of two bits: its contract then allows anything.
  void allow_anything() {
    loose_ = *assignment_.implementations.front();
    loose_.knowledge = OrderKnowledge::unknown;
    loose_.replays.clear();
    loose_.contract.precision.multiply.precision = 2;
    loose_.contract.multiply_rounding = Rounding::toward_zero;
    assignment_.implementations.front() = &loose_;
  }
  /// A row that is compared only when the check points at it.
  std::int64_t unsampled_row() {
    const auto sampled = choose_indices(result().shape()[result().shape().size() - 2], sampled_rows, 1);
    std::int64_t row = 50;
    while (std::ranges::binary_search(sampled, row)) ++row;
    return row;
  }

 private:
  const OpTable ops_ = make_op_table();
  const StageTable stages_ = make_stage_table(ops_);
  const std::unique_ptr<Backend> backend_ = make_cpu_backend(ops_);
  const Result<std::vector<std::unique_ptr<Device>>> devices_ = backend_->devices();
  Case case_;
  Program program_;
  bool exact_ = false;
  Assignment assignment_;
  Implementation loose_;
  std::map<TensorId, Tensor> inputs_, results_;
};

TEST(SampledJudge, HealthyProductsPass) {
  for (const char* text :
       {"gemm m=200 n=300 k=64 in=f32", "gemm m=200 n=300 k=64 in=f16 out=f16",
        "gemm m=150 n=300 k=64 ta=t tb=t alpha=0.5 beta=2 pad_a=3 pad_d=5 in=f32",
        "gemm m=200 n=600 k=64 in=f16 fill=integer", "gemm m=100 n=70 k=40 batch=3 in=f32",
        "linear m=200 n=300 k=64 in=f32", "gemm m=200 n=90 k=40 fill=selector in=f32",
        "gemm m=200 n=300 k=64 in=i8",
        "gemm m=60 n=70 k=63 batch=2 ta=t tb=t beta=1 pad_a=3 pad_d=5 in=i8 fill=uniform"}) {
    SampledRun run(text);
    const OutputRecord record = run.judged();
    EXPECT_EQ(record.judgement.verdict, Verdict::pass)
        << text << " " << (record.judgement.reasons.empty() ? "" : record.judgement.reasons.front());
    ASSERT_TRUE(record.sampled);
    EXPECT_EQ(record.sampled->rows, 32);
    EXPECT_EQ(record.sampled->flagged_rows, 0);
    EXPECT_TRUE(record.sampled->refused.empty());
    EXPECT_LT(record.judgement.statistics.elements, run.result().elements());
  }
}

TEST(SampledJudge, ItsPowerIsMeasuredInComparedRowsAndInOneThatIsNot) {
  for (const char* text : {"gemm m=200 n=300 k=64 in=f32", "gemm m=200 n=300 k=64 in=f16 out=f16",
                           "gemm m=200 n=600 k=64 in=f16 fill=integer", "gemm m=200 n=300 k=64 in=i8"}) {
    SampledRun run(text);
    const Power power = run.judged().power;
    EXPECT_TRUE(power.missed.empty()) << text << ": " << power.missed.front();
    for (const char* mutant :
         {"zeroed", "x 2", "x 1.01", "row dropped", "last 16 of 64 k dropped",
          "a row that is not compared dropped", "last 16 of 64 k dropped in a row that is not compared"})
      EXPECT_NE(std::ranges::find(power.seen, mutant), power.seen.end()) << text << ": " << mutant;
  }
}

TEST(SampledJudge, AContractThatAllowsAnythingIsUntrusted) {
  SampledRun run("gemm m=200 n=300 k=64 in=f32");
  run.allow_anything();
  const OutputRecord record = run.judged();
  ASSERT_EQ(record.judgement.verdict, Verdict::untrusted);
  EXPECT_NE(record.judgement.reasons.front().find("a row that is not compared"), std::string::npos)
      << record.judgement.reasons.front();
}

TEST(SampledJudge, AnErrorOutsideTheSampleIsFoundAndLocated) {
  for (const char* text :
       {"gemm m=200 n=300 k=64 in=f32", "gemm m=200 n=300 k=64 in=f16 out=f32 fill=integer",
        "gemm m=200 n=300 k=64 beta=1 in=i8 fill=uniform"}) {
    SampledRun run(text);
    const std::int64_t row = run.unsampled_row();
    run.add(row, 123, 1);
    const OutputRecord record = run.judged();
    EXPECT_EQ(record.judgement.verdict, Verdict::fail);
    EXPECT_EQ(record.judgement.location.pattern, "one element");
    EXPECT_EQ(record.judgement.location.first_row, row);
    EXPECT_EQ(record.judgement.location.first_col, 123);
    EXPECT_EQ(record.judgement.statistics.worst.front().row, row);
    EXPECT_EQ(record.sampled->rows, 33);
    EXPECT_EQ(record.sampled->flagged_rows, 1);
    EXPECT_EQ(record.sampled->flagged_columns, 1);
    EXPECT_NE(record.judgement.reasons.front().find("(" + std::to_string(row) + ", 123)"), std::string::npos)
        << record.judgement.reasons.front();
  }
}

TEST(SampledJudge, AnErrorBelowTheCheckIsFoundInASampledRow) {
  // Twice the element's own bound: far below what the sums show.
  SampledRun run("gemm m=200 n=300 k=64 in=f32");
  const OutputRecord healthy = run.judged();
  run.add(0, 7, 2 * healthy.sampled->element_bound + 1e-5);
  const OutputRecord record = run.judged();
  EXPECT_EQ(record.sampled->flagged_rows, 0);
  EXPECT_NE(record.judgement.verdict, Verdict::pass);
}

TEST(SampledJudge, AnUnwrittenElementAndALostColumn) {
  SampledRun run("gemm m=200 n=300 k=64 in=f32");
  const std::int64_t row = run.unsampled_row();
  run.result().set_value(row * 300 + 9, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(run.judged().judgement.verdict, Verdict::fail);
  SampledRun column("gemm m=200 n=300 k=64 in=f32");
  for (std::int64_t i = 0; i < 200; ++i) column.result().set_value(i * 300 + 44, 0);
  const OutputRecord record = column.judged();
  EXPECT_EQ(record.judgement.verdict, Verdict::fail);
  EXPECT_GE(record.sampled->flagged_columns, 1);
}

TEST(SampledJudge, WhereTheCheckDoesNotApplyAPassIsUntrusted) {
  SampledRun run("gemm m=200 n=300 k=64 in=f32 fill=nan_cone");
  const OutputRecord record = run.judged();
  EXPECT_EQ(record.judgement.verdict, Verdict::untrusted);
  EXPECT_FALSE(record.sampled->refused.empty());
}

TEST(SampledJudge, RowsThatOverflowAreUnknownUnlessTheyCanBeSummed) {
  SampledRun run("gemm m=200 n=63 k=128 in=f16 acc=f32 out=f16 fill=overflow");
  const OutputRecord record = run.judged();
  ASSERT_EQ(record.judgement.verdict, Verdict::untrusted);
  EXPECT_NE(record.judgement.reasons.front().find("infinite or NaN elements"), std::string::npos)
      << record.judgement.reasons.front();
  // An infinity that no overflow explains, in one row: compared because the check cannot sum it.
  SampledRun healthy("gemm m=200 n=63 k=128 in=f16 acc=f32 out=f16");
  healthy.result().set_value(healthy.unsampled_row() * 63 + 5, std::numeric_limits<double>::infinity());
  EXPECT_EQ(healthy.judged().judgement.verdict, Verdict::fail);
}

TEST(SampledJudge, IsTakenByTheRunnerWhenAskedForOrTooLarge) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto program = [&](const char* text) {
    const Case c = *parse_case(text, stages);
    return *stages.find(c.stage)->build(c);
  };
  const Program small = program("gemm m=64 n=64 k=64 in=f32"),
                large = program("gemm m=8192 n=8192 k=8192 in=f32");
  EXPECT_TRUE(judges_by_sample(ops, small, ReferenceKind::sampled));
  EXPECT_FALSE(judges_by_sample(ops, small, ReferenceKind::automatic));
  EXPECT_TRUE(judges_by_sample(ops, large, ReferenceKind::automatic));
  EXPECT_FALSE(judges_by_sample(ops, large, ReferenceKind::full));

  const auto devices = make_cpu_backend(ops)->devices();
  RunOptions options;
  options.reference = ReferenceKind::sampled;
  Runner runner(ops, stages, *devices->front(), options);
  const Record record = runner.run(*parse_case("gemm m=100 n=64 k=32 in=f32", stages), "sequential_f32");
  EXPECT_EQ(record.verdict, Verdict::pass) << record.reason;
  EXPECT_TRUE(record.outputs.at(0).sampled);
  EXPECT_TRUE(record.order.run_to_run);
  EXPECT_FALSE(record.order.permutation);
}

}  // namespace
}  // namespace parity
