// What a training run leaves beside its records, and what `parity report --out` makes of several of them.
#include <gtest/gtest.h>

#include <fstream>

#include "harness/cli/cli_testing.hpp"
#include "reports/schema_check.hpp"

namespace parity {
namespace {

TEST(TrainingReport, ARunAndAReportOfSeveralShowTheLossInAPlot) {
  const ScratchDirectory scratch;
  for (const char* path : {"sequential_f32", "pairwise_f32"}) {
    const ProgramRun run =
        run_program(PARITY_PROGRAM,
                    {"run", "--device", "cpu", "--path", path, "--no-order-effects", "--repeats", "1",
                     "--case", "training_step batch=1 seq=3 width=8 steps=3", "--out", scratch.file(path)},
                    one_thread());
    ASSERT_EQ(run.code, 0) << run.out << run.err;
    expect_holds(run.out, "end to end");
  }
  const std::string own = scratch.file("sequential_f32/");
  expect_holds(contents(own + "training_loss.svg"), "sequential_f32</text>");
  expect_holds(contents(own + "summary.md"), "](training_loss.svg)");
  int records = 0;
  std::ifstream log(own + "records.jsonl");
  for (std::string line; std::getline(log, line);) {
    if (!line.starts_with("{\"schema\"")) continue;
    ++records;
    EXPECT_EQ(schema_problems(record_json_schema(), nlohmann::json::parse(line)), std::vector<std::string>());
  }
  EXPECT_EQ(records, 1);

  const std::string other = scratch.file("pairwise_f32/");
  const std::string table = parity({"report", own + "records.jsonl", "--csv", "-"}).out;
  expect_holds(table, "training_step batch=1 seq=3 width=8 in=f32");
  EXPECT_GT(std::count(table.begin(), table.end(), '\n'), 10);
  const ProgramRun report = run_program(
      PARITY_PROGRAM,
      {"report", own + "records.jsonl", other + "records.jsonl", "--out", scratch.file("new/report")});
  EXPECT_EQ(report.code, 0) << report.err;
  const std::string both = contents(scratch.file("new/report/training_loss.svg"));
  expect_holds(both, "sequential_f32</text>");
  expect_holds(both, "pairwise_f32</text>");
  expect_holds(contents(scratch.file("new/report/junit.xml")), "tests=\"2\"");
  expect_holds(contents(scratch.file("new/report/summary.md")), "pairwise\\_f32 | 3 |");
}

TEST(TrainingReport, ADirectoryThatCannotBeMadeIsTwo) {
  const ScratchDirectory scratch;
  std::ofstream(scratch.file("records.jsonl")) << "";
  std::ofstream(scratch.file("file")) << "text";
  const ProgramRun report = run_program(
      PARITY_PROGRAM, {"report", scratch.file("records.jsonl"), "--out", scratch.file("file/below")});
  EXPECT_EQ(report.code, 2);
  expect_holds(report.err, "cannot be made");
}

}  // namespace
}  // namespace parity
