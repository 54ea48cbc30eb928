// `parity history` over files of records made here.
#include <gtest/gtest.h>

#include <csignal>

#include "harness/cli/cli_testing.hpp"
#include "reports/history/history_testing.hpp"
#include "reports/record_log.hpp"

namespace parity {
namespace {

using history_testing::recorded;

class HistoryCommand : public testing::Test {
 protected:
#ifdef PARITY_WITHOUT_SQLITE
  static constexpr bool built_in = false;
#else
  static constexpr bool built_in = true;
#endif
  void SetUp() override {
    if (!built_in) GTEST_SKIP() << "this build has no SQLite";
  }
  std::string records(const std::string& name, const std::vector<Record>& records) {
    auto log = RecordLog::open(scratch.file(name), RecordLog::Mode::create);
    EXPECT_TRUE(log);
    for (const Record& record : records) EXPECT_TRUE(log->append(record));
    return scratch.file(name);
  }
  /// One run a file, errors larger by half from the fourth on.
  void add_six() {
    for (int run = 0; run < 6; ++run) {
      Record record = recorded(run, run < 3 ? 3 : 4.5);
      record.order.run_to_run->bit_equal = false;
      const ProgramRun added =
          parity({"history", "add", database, records(fmt::format("{}.jsonl", run), {record})});
      ASSERT_EQ(added.code, 0) << added.err;
    }
  }
  const ScratchDirectory scratch;
  const std::string database = scratch.file("parity.db");
};

TEST_F(HistoryCommand, SaysWhenAStatisticChangedOnWhichDriverAtWhichCommit) {
  add_six();
  const ProgramRun run = parity({"history", database, "--case", "gemm *", "--output", "D", "--statistic",
                                 "rms_error", "--svg", scratch.file("trend.svg")});
  EXPECT_EQ(run.code, 0) << run.err;
  expect_holds(run.out, "2026-01-04T00:00:00Z: vulkan A device: commit commit2 -> commit3");
  expect_holds(run.out, "1 change in 1 case on its path; 6 runs from 2026-01-01");
  expect_holds(contents(scratch.file("trend.svg")), "commit commit2 -&gt; commit3");
  const ProgramRun json = parity({"history", database, "--json"});
  EXPECT_EQ(json.code, 0);
  expect_holds(json.out, R"("figure":"rms_error","was":"0.0029","is":"0.0045")");
  const ProgramRun again = parity({"history", "add", database, scratch.file("2.jsonl")});
  expect_holds(again.out, "0 records added, 1 was there; 6 runs in all");
}

TEST_F(HistoryCommand, WhatCannotBeAnsweredHasAnExitCode) {
  const auto code = [](const Words& words) { return parity(words).code; };
  EXPECT_EQ(code({"history"}), 2);
  EXPECT_EQ(code({"history", database}), 2);
  EXPECT_EQ(code({"history", "add", database, scratch.file("none")}), 2);
  EXPECT_FALSE(std::filesystem::exists(database));
  add_six();
  EXPECT_EQ(code({"history", database, "--case", "gemm"}), 4);
  EXPECT_EQ(code({"history", database, "--output", "E"}), 4);
  EXPECT_EQ(code({"history", database, "--statistic", "rms"}), 2);
  EXPECT_EQ(code({"history", scratch.file("0.jsonl")}), 2);
  EXPECT_EQ(code({"history", database, "--statistic", "bits"}), 0);
}

TEST_F(HistoryCommand, OneIsNotSeveral) {
  const ProgramRun added = parity({"history", "add", database, records("one.jsonl", {recorded(0, 3)})});
  expect_holds(added.out, "1 record added, 0 were there; 1 run in all");
  const ProgramRun asked = parity({"history", database});
  EXPECT_EQ(asked.code, 0) << asked.err;
  expect_holds(asked.out, "0 changes in 1 case on its path; 1 run of 2026-01-01T00:00:00Z in the history");
}

TEST_F(HistoryCommand, WhatDidNotFitIsSaid) {
  ASSERT_EQ(parity({"history", "add", database, records("one.jsonl", {recorded(0, 3)})}).code, 0);
  const ProgramRun device = parity({"history", database, "--device", "cuda"});
  EXPECT_EQ(device.code, 4);
  expect_holds(device.err, "no run is of the device 'cuda'; there are runs of vulkan:0 (A device)");
  EXPECT_EQ(device.err.find("--case"), std::string::npos) << device.err;
  const ProgramRun pattern = parity({"history", database, "--device", "vulkan", "--case", "gemm"});
  EXPECT_EQ(pattern.code, 4);
  expect_holds(pattern.err, "patterns are matched whole: --case");
}

TEST_F(HistoryCommand, AnImportThatFailsOrIsKilledLeavesWhatWas) {
  add_six();
  std::vector<Record> many;
  for (int i = 0; i < 400; ++i) many.push_back(recorded(7, 3, fmt::format("gemm m={}", i)));
  const std::string file = records("many.jsonl", many);
  const auto series = [&] { return parity({"history", database, "--json", "--device", "vulkan"}); };
  const std::string before = series().out;
  ProgramOptions full;
  full.most_file_bytes = std::filesystem::file_size(database) + 65536;
  const ProgramRun failed = parity({"history", "add", database, file}, full);
  EXPECT_EQ(failed.code, 5) << failed.err;
  expect_holds(failed.err, "parity.db: ");
  EXPECT_EQ(series().out, before);
  ProgramOptions killed;
  killed.signal = SIGKILL;
  killed.signal_when_exists = database + "-journal";
  const ProgramRun gone = parity({"history", "add", database, file}, killed);
  EXPECT_EQ(series().code, 0);
  const ProgramRun added = parity({"history", "add", database, file});
  EXPECT_EQ(added.code, 0) << added.err;
  // All or nothing, whichever came first: the signal or the end.
  if (gone.code == 0)
    expect_holds(added.out, "0 records added, 400 were there");
  else
    EXPECT_TRUE(added.out.find("400 records added, 0 were") != added.out.npos ||
                added.out.find("0 records added, 400 were") != added.out.npos)
        << added.out;
}

TEST(HistoryCommandWithoutSqlite, SaysWhatItLacks) {
#ifdef PARITY_WITHOUT_SQLITE
  for (const Words& words : {Words{"history", "x.db"}, Words{"history", "add", "x.db", "x.jsonl"}}) {
    const ProgramRun run = parity(words);
    EXPECT_EQ(run.code, 4);
    expect_holds(run.err, "libsqlite3-dev");
  }
#else
  GTEST_SKIP() << "this build has SQLite";
#endif
}

}  // namespace
}  // namespace parity
