// A plan shared out among several runs, and their records put together again.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "harness/cli/record_testing.hpp"

namespace parity {
namespace {

/// Cases of one shape, whose order experiments are made once a run: shards must know who makes them.
Words shared() {
  return {"run",
          "--device",
          "cpu",
          "--path",
          "sequential_f32",
          "--case",
          "gemm m={3,4} n=5 k={6,30} fill={normal,positive,integer}",
          "--case",
          "attention batch=1 seq=3 heads=2 kv_heads=1 head_dim=4 mask=y gradient={n,y}"};
}

std::string shard_of(const ScratchDirectory& scratch, const std::string& name) {
  return scratch.file(name) + "/records.jsonl";
}

TEST(ShardedRun, FourShardsMergedAreOneRun) {
  const ScratchDirectory scratch;
  ASSERT_EQ(parity(with(shared(), {"--out", scratch.file("whole")}), one_thread()).code, 0);
  const auto whole = timeless(records_in(scratch.file("whole")));
  ASSERT_EQ(whole.size(), 14u);
  Words report = {"report"};
  std::multiset<std::string> merged;
  for (const char* number : {"1", "2", "3", "4"}) {
    const std::string directory = scratch.file(std::string("s") + number);
    // By recorded times, as a pipeline would; the second as an engine numbers its jobs.
    Words words =
        with(shared(), {"--out", directory, "--times", scratch.file("whole/records.jsonl"), "--shard"});
    ProgramOptions options = one_thread();
    if (number == std::string("2")) {
      words.emplace_back("auto/4");
      options.environment.emplace_back("JOB_COMPLETION_INDEX=1");
    } else {
      words.push_back(std::string(number) + "/4");
    }
    const ProgramRun run = parity(words, options);
    ASSERT_EQ(run.code, 0) << run.err;
    expect_holds(run.err, std::string("shard ") + number + "/4, from ");
    const std::vector<Record> records = records_in(directory);
    EXPECT_GT(records.size(), 0u);
    EXPECT_LT(records.size(), 14u);
    merged.merge(timeless(records));
    report.push_back(directory + "/records.jsonl");
  }
  EXPECT_TRUE(merged == whole);
  const ProgramRun together = parity(report);
  EXPECT_EQ(together.code, 0) << together.err;
  expect_holds(together.out, "passed: 14 pass");
  // The page shows one run, not four side by side.
  ASSERT_EQ(parity(with(report, {"--html", scratch.file("page.html")})).code, 0);
  const std::string page = contents(scratch.file("page.html"));
  expect_holds(page, "s1/records.jsonl and 3 more of its shards");
  EXPECT_EQ(page.find("s2/records.jsonl"), std::string::npos);

  report.pop_back();
  const ProgramRun lacking = parity(report);
  EXPECT_EQ(lacking.code, 2);
  expect_holds(lacking.err, "shard 4 of 4 is not there");
  const ProgramRun forced = parity(with(report, {"--force-merge"}));
  EXPECT_EQ(forced.code, 5);
  expect_holds(forced.out, "Incomplete: shard 4 of 4 is not there");
  const ProgramRun alone = parity({"report", report[1]});
  EXPECT_EQ(alone.code, 5);
  expect_holds(alone.err, "shards 2, 3, 4 of 4 are not there");

  std::filesystem::create_directory(scratch.file("copy"));
  std::filesystem::copy_file(report[1], shard_of(scratch, "copy"));
  const ProgramRun twice = parity(with(report, {shard_of(scratch, "copy")}));
  EXPECT_EQ(twice.code, 2);
  expect_holds(twice.err, "shard 1/4 is there twice");
}

/// Records whose first case took as long as all others together, on another device of the same name.
void skew_times(const std::string& from, const std::string& to) {
  std::vector<Record> records = records_in(from);
  std::ofstream stream(to);
  for (Record& record : records) {
    record.device.id = "cpu:7";
    record.case_seconds = &record == &records.front() ? 1000 : 1;
    stream << to_json_line(record) << '\n';
  }
}

/// What one shard leaves to the other must be what the other takes.
TEST(ShardedRun, ShardsThatShareThePlanOutOtherwiseAreNoWhole) {
  const ScratchDirectory scratch;
  ASSERT_EQ(parity(with(twelve(), {"--out", scratch.file("whole")}), one_thread()).code, 0);
  skew_times(scratch.file("whole"), scratch.file("times.jsonl"));
  const auto shard = [&](const char* name, const char* number, const Words& times) {
    const ProgramRun run =
        parity(with(with(twelve(), {"--out", scratch.file(name), "--shard", number}), times), one_thread());
    EXPECT_EQ(run.code, 0) << run.err;
    return shard_of(scratch, name);
  };
  const Words times = {"--times", scratch.file("times.jsonl")};
  const std::string first = shard("1", "1/2", times), second = shard("2", "2/2", times);
  const std::string stray = shard("stray", "2/2", {});
  EXPECT_EQ(records_in(scratch.file("1")).size(), 1u);  // the times are those of the device by its name
  EXPECT_EQ(parity({"report", first, second}).code, 0);
  const ProgramRun merged = parity({"report", first, stray});
  EXPECT_EQ(merged.code, 2) << merged.out;
  expect_holds(merged.err, "shard 2 of 2 is not there (beside " + first + "); " + stray);
  expect_holds(merged.err, "all shards need the same options, --times among them");
  EXPECT_EQ(parity({"report", first, stray, "--force-merge"}).code, 5);
  const ProgramRun resumed = parity(with(twelve(), {"--resume", scratch.file("1"), "--shard", "1/2"}));
  EXPECT_EQ(resumed.code, 2);
  expect_holds(resumed.err, "(--times)");
  const ProgramRun other =
      parity({"run", "--device", "cpu", "--case", "gemm m=9 n=9 k=9", "--shard", "1/2", "--times", times[1]},
             one_thread());
  expect_holds(other.err, "holds the time of no case of this run");
  const ProgramRun twice = parity({"report", first, first, second});
  EXPECT_EQ(twice.code, 2) << twice.out;
  expect_holds(twice.err, "shard 1/2 is there twice");
}

/// Half of a run without a second look at the bits would pass for a run that looked twice everywhere.
TEST(ShardedRun, ShardsOfOtherOptionsAreNoWhole) {
  const ScratchDirectory scratch;
  Words report = {"report"};
  for (const std::string number : {"1", "2"}) {
    const Words run =
        with(twelve(), {"--out", scratch.file(number), "--shard", number + "/2", "--repeats", number});
    ASSERT_EQ(parity(run, one_thread()).code, 0);
    report.push_back(shard_of(scratch, number));
  }
  const ProgramRun merged = parity(report);
  EXPECT_EQ(merged.code, 2) << merged.out;
  expect_holds(merged.err, report[2] + " was run otherwise: all shards need the same options");
  EXPECT_EQ(parity(with(report, {"--force-merge"})).code, 5);
}

TEST(ShardedRun, RecordsOfOtherCommitsAndSuitesAreNotMergedUnasked) {
  const ScratchDirectory scratch;
  for (const char* name : {"a", "b"})
    ASSERT_EQ(parity(with(twelve(), {"--out", scratch.file(name)}), one_thread()).code, 0);
  const Words both = {"report", shard_of(scratch, "a"), shard_of(scratch, "b")};
  EXPECT_EQ(parity(both).code, 0);
  const std::string text = contents(shard_of(scratch, "b"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos);
    changed.replace(at, from.size(), to);
    std::ofstream(shard_of(scratch, "b"), std::ios::trunc) << changed;
  };
  replaced("\"suite\":\"\"", "\"suite\":\"ladder\"");
  const ProgramRun suites = parity(both);
  EXPECT_EQ(suites.code, 2);
  expect_holds(suites.err, "different suites");
  EXPECT_EQ(parity(with(both, {"--force-merge"})).code, 0);
  replaced("\"provenance\":{\"commit\":\"", "\"provenance\":{\"commit\":\"x");
  const ProgramRun commits = parity(both);
  EXPECT_EQ(commits.code, 2);
  expect_holds(commits.err, "different commits");
}

/// The program as a file of ours calls it.
std::string wrapper(const ScratchDirectory& scratch) {
  const std::string file = scratch.file("parity");
  std::ofstream(file) << "#!/bin/sh\nexec " << PARITY_PROGRAM << " \"$@\"\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

std::string small_suite(const ScratchDirectory& scratch, const std::string& name) {
  std::ofstream(scratch.file(name)) << "gemm m={3,4} n=5 k={6,30}\nrms_norm rows=2 cols={3,5}\n";
  return scratch.file(name);
}

TEST(ShardedRun, TheFileForSlurmRunsAndGoesOn) {
  const ScratchDirectory scratch;
  Words report = {"report"};
  for (const std::string task : {"5", "6", "6"}) {  // the second is submitted again
    ProgramOptions options = one_thread();
    options.environment.insert(
        options.environment.end(),
        {"PARITY=" + wrapper(scratch), "SUITE=" + small_suite(scratch, "s.txt"), "OUT=" + scratch.file("out"),
         "SLURM_ARRAY_TASK_ID=" + task, "SLURM_ARRAY_TASK_COUNT=2", "SLURM_ARRAY_TASK_MIN=5"});
    const ProgramRun run =
        run_program("/bin/bash", {PARITY_SOURCE "/ci/slurm-conformance.sh", "cpu"}, options);
    ASSERT_EQ(run.code, 0) << run.err;
    expect_holds(run.err, "SLURM_ARRAY_TASK_ID of Slurm");
    if (report.size() < 3) report.push_back(scratch.file("out/shard-" + task + "/records.jsonl"));
  }
  const ProgramRun together = parity(report);
  EXPECT_EQ(together.code, 0) << together.err;
}

/// `text` with every `from` replaced.
std::string with_all(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(ShardedRun, TheCommandOfTheKubernetesJobRunsAndGoesOn) {
  const ScratchDirectory scratch;
  const std::string job = contents(PARITY_SOURCE "/ci/kubernetes-conformance.yaml");
  expect_holds(job, "completionMode: Indexed");
  const std::size_t from = job.find("- |\n"), to = job.find("          resources:");
  ASSERT_LT(from, to);
  std::string script = job.substr(from + 4, to - from - 4);
  // What a pod has, and a suite and a device that are quick.
  script = with_all(script, "/parity/bin/parity", wrapper(scratch));
  script = with_all(script, "out=/records", "out=" + scratch.file("records"));
  script = with_all(script, "--suite conformance", "--suite " + small_suite(scratch, "s.txt"));
  script = with_all(script, "--device cuda", "--device cpu");
  std::filesystem::create_directory(scratch.file("records"));
  Words report = {"report"};
  for (int pod = 0; pod < 9; ++pod) {
    ProgramOptions options = one_thread();
    const std::string index = std::to_string(pod % 8);  // the first is started again
    options.environment.push_back("JOB_COMPLETION_INDEX=" + index);
    const ProgramRun run = run_program("/bin/sh", {"-c", script}, options);
    ASSERT_TRUE(run.code == 0 || run.code == 4) << run.err;  // 4: a shard without a case
    expect_holds(run.err, "JOB_COMPLETION_INDEX of Kubernetes");
    if (pod < 8) report.push_back(scratch.file("records/shard-" + index + "/records.jsonl"));
  }
  const ProgramRun together = parity(report);
  EXPECT_EQ(together.code, 0) << together.err;
}

TEST(ConformanceRun, ItsFolderHoldsRecordsPageAndTheDevicesProfile) {
  const ScratchDirectory scratch;
  const Words words = {"run", "--suite", small_suite(scratch, "conformance.txt"), "--device", "cpu", "--out"};
  const ProgramRun run = parity(with(words, {scratch.file("r")}), one_thread());
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* name :
       {"records.jsonl", "junit.xml", "summary.md", "page.html", "profile.json", "profile.md"})
    EXPECT_TRUE(std::filesystem::exists(scratch.file("r/") + name)) << name;
  // Forced one by one: every path that takes a case has a record of its own.
  std::set<std::string> paths;
  for (const Record& record : records_in(scratch.file("r")))
    if (record.stage == "gemm") paths.insert(record.path);
  EXPECT_GT(paths.size(), 2u);
  // The profile is that of the device: a run takes it.
  const ProgramRun again = parity(
      {"run", "--device", "cpu", "--case", "gemm m=3 n=4 k=5", "--profile", scratch.file("r/profile.json")},
      one_thread());
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(parity(with(words, {scratch.file("n"), "--no-profile", "gemm"}), one_thread()).code, 0);
  EXPECT_FALSE(std::filesystem::exists(scratch.file("n/profile.json")));
}

TEST(ShardedRun, AShardIsOneOfItsNumber) {
  for (const char* wrong : {"0/4", "5/4", "auto", "4"}) {
    const ProgramRun run = parity(with(twelve(), {"--shard", wrong}));
    EXPECT_EQ(run.code, 2) << wrong;
    expect_holds(run.err, "--shard");
  }
  EXPECT_EQ(parity(with(twelve(), {"--times", "x"})).code, 2);
}

}  // namespace
}  // namespace parity
