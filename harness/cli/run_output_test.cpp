#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "harness/cli/cli_testing.hpp"
#include "reports/record_log.hpp"

namespace parity {
namespace {

/// More than what stands in records.jsonl before its first record.
constexpr std::uintmax_t plan_bytes = 1000;

TEST(RunOutput, OutHoldsRecordsJUnitAndSummary) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("deep/results");
  EXPECT_EQ(parity(quick({"--out", out})).code, 0);
  EXPECT_TRUE(std::filesystem::exists(out + "/junit.xml"));
  EXPECT_TRUE(std::filesystem::exists(out + "/summary.md"));
  auto logged = read_record_log(out + "/records.jsonl");
  ASSERT_TRUE(logged) << logged.error().message;
  EXPECT_EQ(logged->records.size(), 1u);

  const ProgramRun again = parity(quick({"--out", out}));
  EXPECT_EQ(again.code, 2);
  expect_holds(again.err, "--append");
  EXPECT_EQ(parity(quick({"--out", out, "--append", "--seed", "2"})).code, 0);
  EXPECT_EQ(read_record_log(out + "/records.jsonl")->records.size(), 2u);

  const ProgramRun report = parity({"report", out + "/records.jsonl", "--junit", "-"});
  EXPECT_EQ(report.code, 0);
  expect_holds(report.out, "tests=\"2\"");
}

TEST(RunOutput, AWholeRunAfterAnInterruptedOneOfTheSamePlanIsComplete) {
  const ScratchDirectory scratch;
  const std::string records = scratch.file("r/records.jsonl");
  const Words words = {
      "run", "--device", "cpu", "--path", "sequential_f32", "--case", "gemm m={1,2} n=3 k=4"};
  const auto again = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), {"--out", scratch.file("r")});
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(parity(all).code, 0);
    return parity({"report", records}).code;
  };
  ASSERT_EQ(again({}), 0);
  // As a kill leaves it: the second record and the end are not there.
  std::string kept, line;
  std::ifstream whole(records);
  for (int i = 0; i < 2 && std::getline(whole, line); ++i) kept += line + "\n";
  std::ofstream(records) << kept;
  EXPECT_EQ(parity({"report", records}).code, 5);
  EXPECT_EQ(again({"--append", "--seed", "2"}), 5);  // other cases
  EXPECT_EQ(again({"--append"}), 0);
}

TEST(RunOutput, ReportReadsTornLogsAndRefusesBrokenOnes) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("r");
  ASSERT_EQ(parity(quick({"--out", out})).code, 0);
  std::ofstream(out + "/records.jsonl", std::ios::app) << "{\"schema\":1,\"ca";
  const ProgramRun torn = parity({"report", out + "/records.jsonl"});
  EXPECT_EQ(torn.code, 5);
  expect_holds(torn.err, "torn");
  std::ofstream(out + "/records.jsonl", std::ios::app) << "\n";
  EXPECT_EQ(parity({"report", out + "/records.jsonl"}).code, 2);
  std::ofstream(scratch.file("empty.jsonl"));
  EXPECT_EQ(parity({"report", scratch.file("empty.jsonl")}).code, 4);
}

TEST(RunOutput, ClosedStreamsAreNotPrintedIntoTheRecords) {
  const ScratchDirectory scratch;
  ProgramOptions closed;
  closed.streams_closed = true;
  EXPECT_EQ(parity(quick({"--out", scratch.file("r")}), closed).code, 5);
  const auto logged = read_record_log(scratch.file("r/records.jsonl"));
  ASSERT_TRUE(logged) << logged.error().message;
  EXPECT_EQ(logged->records.size(), 1u);
  EXPECT_TRUE(logged->note.empty());
}

TEST(RunOutput, FilesThatCannotBeMadeAreTheUsersMistake) {
  const ScratchDirectory scratch;
  ASSERT_EQ(parity(quick({"--out", scratch.file("r")})).code, 0);
  const ProgramRun run = parity({"report", scratch.file("r/records.jsonl"), "--junit", "/nonexistent/x"});
  EXPECT_EQ(run.code, 2);
  expect_holds(run.err, "/nonexistent/x");
  std::filesystem::create_directories(scratch.file("s/records.jsonl"));
  const ProgramRun taken = parity(quick({"--out", scratch.file("s")}));
  EXPECT_EQ(taken.code, 2);
  EXPECT_EQ(taken.err.find("--append"), std::string::npos) << taken.err;
}

TEST(RunOutput, AnInterruptFinishesTheCaseAndWritesTheSummaries) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const ScratchDirectory scratch;
    ProgramOptions options;
    options.signal = signal;
    options.signal_when_exists = scratch.file("r/records.jsonl");
    options.signal_when_larger_than = plan_bytes;
    const ProgramRun run =
        parity({"run", "--device", "cpu", "--suite", "ladder", "--out", scratch.file("r")}, options);
    EXPECT_EQ(run.code, 128 + signal) << run.err;
    expect_holds(run.err, "interrupted after");
    EXPECT_TRUE(std::filesystem::exists(scratch.file("r/junit.xml")));
    const auto logged = read_record_log(scratch.file("r/records.jsonl"));
    ASSERT_TRUE(logged) << logged.error().message;
    EXPECT_TRUE(logged->note.empty());
    EXPECT_GE(logged->records.size(), 1u);
    ASSERT_EQ(logged->missing.size(), 1u);
    expect_holds(logged->missing[0], "recorded; the run was interrupted");
    expect_holds(run.out, "INCOMPLETE: ");
    EXPECT_EQ(parity({"report", scratch.file("r/records.jsonl")}).code, 5);
  }
}

TEST(RunOutput, TheReportOfAKilledRunIsNoPass) {
  const ScratchDirectory scratch;
  const std::string records = scratch.file("r/records.jsonl");
  ProgramOptions options;
  options.signal = SIGKILL;
  options.signal_when_exists = records;
  options.signal_when_larger_than = plan_bytes;
  const Words words = {"run", "--device", "cpu", "--suite", "ladder", "--out", scratch.file("r")};
  ASSERT_EQ(parity(words, options).code, 128 + SIGKILL);
  for (const Words& more : {Words{}, Words{"--junit", "-"}, Words{"--markdown", "-"}}) {
    Words report = {"report", records};
    report.insert(report.end(), more.begin(), more.end());
    const ProgramRun run = parity(report);
    EXPECT_EQ(run.code, 5) << run.err;
    expect_holds(run.out, "recorded; the run was interrupted");
    expect_holds(run.err, "recorded; the run was interrupted");
  }
  // The JUnit file that a later run of the same folder writes says it too.
  ASSERT_EQ(parity(quick({"--out", scratch.file("r"), "--append"})).code, 0);
  std::ifstream junit(scratch.file("r/junit.xml"));
  const std::string text{std::istreambuf_iterator<char>(junit), {}};
  expect_holds(text, "recorded; the run was interrupted");
}

}  // namespace
}  // namespace parity
