// From a run to a baseline, and a gate that passes and fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "harness/cli/cli_testing.hpp"
#include "reports/record_json.hpp"

namespace parity {
namespace {

class GateCommand : public testing::Test {
 protected:
  GateCommand() {
    record("a");
    const ProgramRun made = command("bless", "a", {"--reason", "first", "--author", "A. Person"});
    EXPECT_EQ(made.code, 0) << made.err;
  }
  /// Records two small cases; `path`: which kernel stands behind the case.
  void record(const std::string& name) {
    const ProgramRun run =
        parity({"run", "--device", "cpu", "--path", "sequential_f32", "--out", scratch.file(name), "--case",
                "gemm m=5 n=4 k=3 in=f32", "--case", "gemm m=2 n=4 k=3 in=f32"},
               one_thread());
    ASSERT_EQ(run.code, 0) << run.err;
  }
  ProgramRun command(const std::string& verb, const std::string& name, Words words) {
    words.insert(words.begin(),
                 {verb, scratch.file(name + "/records.jsonl"), "--baseline", scratch.file("b.jsonl")});
    return parity(words, one_thread());
  }
  /// Changes the text of a file.
  void edit(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = contents(scratch.file(file));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is not in " << text;
    text.replace(at, from.size(), to);
    std::ofstream(scratch.file(file)) << text;
  }
  /// The last result of the baseline had other bits.
  void other_bits() {
    std::string text = contents(scratch.file("b.jsonl"));
    const std::size_t at = text.rfind("\"bits\":\"0x") + 10;
    text[at] = text[at] == '5' ? '6' : '5';
    std::ofstream(scratch.file("b.jsonl")) << text;
  }
  const ScratchDirectory scratch;
};

TEST_F(GateCommand, PassesOnTheSameAndTheBaselineSaysWho) {
  const std::string baseline = contents(scratch.file("b.jsonl"));
  expect_holds(baseline, "\"reason\":\"first\",\"author\":\"A. Person\"");
  record("b");
  const ProgramRun gate = command("gate", "b", {});
  EXPECT_EQ(gate.code, 0) << gate.out << gate.err;
  expect_holds(gate.out,
               "gate: passed; 2 cases compared with the baseline, 2 of 2 results with the same bits");
  const ProgramRun again = command("bless", "b", {"--reason", "x", "--author", "y"});
  EXPECT_EQ(again.code, 2);
  expect_holds(again.err, "nothing to bless");
}

TEST_F(GateCommand, ABaselineThatWasCutIsRefused) {
  std::string text = contents(scratch.file("b.jsonl"));
  expect_holds(text, "{\"baseline\":1,\"cases\":2,");
  text.erase(text.rfind('\n', text.size() - 2) + 1);
  std::ofstream(scratch.file("b.jsonl")) << text;
  for (const char* verb : {"gate", "bless"}) {
    const ProgramRun run =
        command(verb, "a", verb == std::string("gate") ? Words{} : Words{"--reason", "x", "--author", "y"});
    EXPECT_EQ(run.code, 2) << run.out;
    expect_holds(run.err, "b.jsonl:1: the baseline has 2 cases by this line, and 1 follow");
  }
}

TEST_F(GateCommand, NeitherReasonNorAuthorIsBlank) {
  const ProgramRun no_reason = command("bless", "a", {"--reason", " \n", "--author", "y"});
  EXPECT_EQ(no_reason.code, 2);
  expect_holds(no_reason.err, "the reason is empty");
  const ProgramRun no_author = command("bless", "a", {"--reason", "x", "--author", " "});
  EXPECT_EQ(no_author.code, 2);
  expect_holds(no_author.err, "the author is empty");
}

TEST_F(GateCommand, FailsOnOtherBitsAndOnALostCaseAndNamesThem) {
  other_bits();
  edit("b.jsonl", "gemm m=2", "gemm m=1");
  const ProgramRun gate = command("gate", "a", {"--github", "--junit", scratch.file("gate.xml")});
  EXPECT_EQ(gate.code, 1) << gate.err;
  expect_holds(gate.out, "FAIL lost case: sequential_f32 | gemm m=1");
  expect_holds(gate.out, "FAIL bits: sequential_f32 | gemm m=5");
  expect_holds(gate.out, "::error title=parity gate%3A lost case::");
  expect_holds(contents(scratch.file("gate.xml")), "<failure");
}

TEST_F(GateCommand, AWaiverHoldsUntilItsDay) {
  other_bits();
  const auto waive = [&](const std::string& until) {
    std::ofstream(scratch.file("w.json"))
        << R"({"waivers": [{"case": "gemm*", "reason": "known", "expires": ")" << until << "\"}]}";
    return command("gate", "a", {"--waivers", scratch.file("w.json")});
  };
  EXPECT_EQ(command("gate", "a", {}).code, 1);
  const ProgramRun waived = waive("2999-01-01");
  EXPECT_EQ(waived.code, 0) << waived.out << waived.err;
  expect_holds(waived.out, "waived: known, until 2999-01-01");
  const ProgramRun expired = waive("2020-01-01");
  EXPECT_EQ(expired.code, 1);
  expect_holds(expired.out, "has expired");
}

/// Errors of one result twice as large, and so in contract as before; the record that was changed.
std::optional<Record> plant_drift(std::string& records) {
  for (std::size_t begin = 0, end; (end = records.find('\n', begin)) != records.npos; begin = end + 1) {
    const std::string line = records.substr(begin, end - begin);
    if (line.find("fill=normal") == line.npos || line.find("\"case\":\"gemm ") == line.npos) continue;
    auto record = parse_record_json(line);
    if (!record || record->verdict != Verdict::pass) continue;
    OutputRecord& output = record->outputs.front();
    ErrorStatistics& s = output.judgement.statistics;
    auto& bins = s.ulp_histogram;
    if (s.elements < 1000 || s.max_bound_ratio > 0.45 || bins.back() != 0) continue;
    std::rotate(bins.begin() + 1, bins.end() - 1, bins.end());
    for (double* size : {&s.max_abs, &s.mean_abs, &s.rms, &s.max_bound_ratio}) *size *= 2;
    output.bits ^= 1;
    records.replace(begin, end - begin, to_json_line(*record));
    return *record;
  }
  return std::nullopt;
}

// The records and baselines that are kept in this project.
TEST(DeviceBaselines, HoldTheRecordsOfTheirDevicesAndNameOnePlantedDrift) {
  const ScratchDirectory scratch;
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PARITY_SOURCE "/reports/baselines")) {
    const std::filesystem::path& baseline = entry.path();
    if (baseline.extension() != ".jsonl") continue;
    const std::string packed =
        PARITY_SOURCE "/reports/devices/" + baseline.stem().string() + "/smoke.jsonl.xz";
    const std::string file = scratch.file(baseline.stem().string());
    if (run_program("/bin/sh", {"-c", "xz -dc '" + packed + "' > '" + file + "'"}).code != 0)
      GTEST_SKIP() << packed << " cannot be unpacked (xz)";
    std::string records = contents(file);
    if (compared++ == 0) {
      EXPECT_EQ(parity({"gate", file, "--baseline", baseline.string()}).code, 0) << baseline;
    }
    const auto planted = plant_drift(records);
    ASSERT_TRUE(planted) << baseline;
    std::ofstream(file) << records;
    const ProgramRun gate = parity({"gate", file, "--baseline", baseline.string()});
    EXPECT_EQ(gate.code, 1) << baseline << gate.out << gate.err;
    expect_holds(gate.out, "FAIL drift: " + planted->path + " | " + planted->case_text + " | ");
    expect_holds(gate.out, "2.00 times");
    expect_holds(gate.out, "FAIL bits: " + planted->path + " | " + planted->case_text + " | ");
    // Nothing else: without the drift it passes.
    expect_holds(gate.out, "gate: FAILED; 2 findings; ");
  }
  EXPECT_GE(compared, 5);
}

TEST_F(GateCommand, StandardOutputIsForTheProgramThatReadsIt) {
  const ProgramRun junit = command("gate", "a", {"--junit", "-"});
  EXPECT_EQ(junit.code, 0);
  EXPECT_TRUE(junit.out.ends_with("</testsuites>\n")) << junit.out;
  expect_holds(junit.err, "gate: passed");
}

TEST_F(GateCommand, ALimitIsANumber) {
  for (const char* option : {"--chance", "--smallest", "--slower", "--fail-slower"}) {
    const ProgramRun gate = command("gate", "a", {option, "nan"});
    EXPECT_EQ(gate.code, 2) << option;
    expect_holds(gate.err, option);
  }
}

TEST_F(GateCommand, WhereNothingIsJudgedNothingPasses) {
  for (const char* file : {"a/records.jsonl", "b.jsonl"}) {
    std::string text = contents(scratch.file(file));
    for (std::size_t at; (at = text.find("\"path\":\"sequential_f32\",\"verdict\":\"pass\"")) != text.npos;)
      text.replace(at, 40, "\"path\":\"sequential_f32\",\"verdict\":\"unsupported\"");
    std::ofstream(scratch.file(file)) << text;
  }
  const ProgramRun gate = command("gate", "a", {});
  EXPECT_EQ(gate.code, 4) << gate.out << gate.err;
  expect_holds(gate.out, "NOTHING JUDGED");
}

TEST_F(GateCommand, ARunThatWasKilledBeforeItsFirstRecordIsSaidToBe) {
  std::string text = contents(scratch.file("a/records.jsonl"));
  text.erase(text.find('\n') + 1);
  std::ofstream(scratch.file("a/records.jsonl")) << text;
  const ProgramRun gate = command("gate", "a", {});
  EXPECT_EQ(gate.code, 5) << gate.err;
  expect_holds(gate.err, "0 of 2 recorded; the run was interrupted");
}

/// What is published of a pipeline is of this run.
TEST_F(GateCommand, TheScriptLeavesNoOlderVerdictBesideARunWithoutResult) {
  std::filesystem::create_directory(scratch.file("out"));
  for (const char* file : {"out/gate.xml", "out/gate.md"}) std::ofstream(scratch.file(file)) << "passed";
  ProgramOptions options = one_thread();
  options.environment.emplace_back("PARITY=" PARITY_PROGRAM);
  options.environment.push_back("OUT=" + scratch.file("out"));
  const ProgramRun gate = run_program(
      "/bin/bash", {PARITY_SOURCE "/ci/gate.sh", scratch.file("b.jsonl"), "--device", "no such"}, options);
  EXPECT_EQ(gate.code, 3) << gate.err;
  for (const char* file : {"out/gate.xml", "out/gate.md"})
    EXPECT_FALSE(std::filesystem::exists(scratch.file(file))) << file;
}

TEST_F(GateCommand, WhatIsNotThereIsSaid) {
  EXPECT_EQ(parity({"gate", scratch.file("a/records.jsonl"), "--baseline", scratch.file("none")}).code, 2);
  EXPECT_EQ(parity({"gate", scratch.file("none"), "--baseline", scratch.file("b.jsonl")}).code, 2);
  const ProgramRun other = command("gate", "a", {"--device", "vulkan"});
  EXPECT_EQ(other.code, 2);
  expect_holds(other.err, "there are records of cpu:0");
  // A run that was killed: its end mark is missing.
  std::string text = contents(scratch.file("a/records.jsonl"));
  text.erase(text.rfind("{\"end\""));
  std::ofstream(scratch.file("a/records.jsonl")) << text;
  const ProgramRun killed = command("gate", "a", {"--junit", scratch.file("gate.xml"), "--github"});
  EXPECT_EQ(killed.code, 5);
  // Nobody who reads less than the exit code takes it for a pass.
  expect_holds(killed.out, "gate: FAILED; 1 finding;");
  expect_holds(killed.out, "::error title=parity gate%3A incomplete::");
  expect_holds(contents(scratch.file("gate.xml")), "2 of 2 recorded; the run was interrupted");
  expect_holds(contents(scratch.file("gate.xml")), "failures=\"1\"");
  EXPECT_EQ(command("bless", "a", {"--reason", "x", "--author", "y"}).code, 5);
}

}  // namespace
}  // namespace parity
