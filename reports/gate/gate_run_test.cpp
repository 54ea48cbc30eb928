#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reports/gate/gate.hpp"
#include "reports/gate/gate_testing.hpp"
#include "reports/gate/gate_text.hpp"

namespace parity {
namespace {

using namespace gate_testing;
using Kind = GateFinding::Kind;

std::vector<Record> four_records() {
  std::vector<Record> records;
  for (const char* path : {"naive_f32", "tiled_f32"})
    for (const char* text : {"gemm m=1", "gemm m=2"})
      records.push_back(record_of(text, path, result_with(records.size() + 1, 4096, 3)));
  return records;
}

/// The gate over records against the baseline of four_records().
GateReport gate(const std::vector<Record>& records, GateOptions options = {},
                const std::vector<Waiver>& waivers = {}) {
  options.today = "2026-06-01";
  const auto report = run_gate(records, *make_baseline(four_records()), waivers, options);
  EXPECT_TRUE(report) << report.error().message;
  return report.value_or(GateReport{});
}

std::vector<Kind> failing(const GateReport& report) {
  std::vector<Kind> kinds;
  for (const GateFinding& finding : report.findings)
    if (finding.fails && finding.waived.empty()) kinds.push_back(finding.kind);
  return kinds;
}

TEST(Gate, TheSameRecordsPass) {
  const GateReport report = gate(four_records());
  EXPECT_TRUE(report.passes());
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.compared, 4);
  EXPECT_EQ(report.same_bits, 4);
  EXPECT_NE(gate_text(report).find("gate: passed; 4 cases compared"), std::string::npos);
}

TEST(Gate, ResultsOfOneNameAreToldApartByTheirOrder) {
  auto records = four_records();
  // Two steps of one call, and two kinds of results that stand for three calls each.
  for (Record& record : records) {
    record.outputs.push_back(result_with(50, 4096, 5));
    record.outputs.push_back(result_with(51, 4096, 1));
    record.outputs.back().calls = 3;
    record.outputs.back().tensor = "last";
  }
  const Baseline baseline = *make_baseline(records);
  records[0].outputs[2].tensor = "first";
  const auto same = run_gate(records, baseline, {}, {});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->passes());
  EXPECT_EQ(same->same_bits, 12);
  std::swap(records[0].outputs[0], records[0].outputs[1]);
  const auto swapped = run_gate(records, baseline, {}, {});
  EXPECT_EQ(swapped->same_bits, 10);
}

TEST(Gate, ABrokenContractIsSaidWithItsCommand) {
  auto records = four_records();
  records[2].verdict = Verdict::crash;
  records[2].reason = "SIGSEGV";
  const GateReport report = gate(records);
  EXPECT_EQ(failing(report), std::vector{Kind::contract});
  const std::string text = gate_text(report);
  EXPECT_NE(text.find("crash: SIGSEGV"), std::string::npos) << text;
  EXPECT_NE(text.find("parity run --case 'gemm m=1'"), std::string::npos) << text;
  EXPECT_NE(text.find("gate: FAILED; 1 finding;"), std::string::npos) << text;
}

TEST(Gate, LostCasesAndPaths) {
  auto records = four_records();
  records.erase(records.begin() + 1);
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::lost_case});
  records = four_records();
  records.resize(2);
  const GateReport report = gate(records);
  ASSERT_EQ(failing(report), std::vector{Kind::lost_path});
  EXPECT_NE(report.findings[0].text.find("all 2 cases"), std::string::npos);
  records = four_records();
  records[0].verdict = Verdict::unsupported;
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::not_judged});
  records[0] = four_records()[0];
  records[0].outputs.front().tensor = "E";
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::not_judged});
  records[0] = four_records()[0];
  records[0].input_hashes["A"] = "99";
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::not_judged});
}

TEST(Gate, OtherBitsAreAFindingWhereTheyWereReproducible) {
  auto records = four_records();
  records[3].outputs.front() = result_with(99, 4096, 3);
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::bits});
  records[3].order.run_to_run.reset();  // --repeats 1: nothing says that they vary
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::bits});
}

/// A race that came in shows here alone: each of its results is in contract.
TEST(Gate, BitsThatBeganToVaryAreAFinding) {
  for (const bool first_run_as_before : {false, true}) {
    auto records = four_records();
    if (!first_run_as_before) records[3].outputs.front() = result_with(99, 4096, 3);
    records[3].order.run_to_run->bit_equal = false;
    const GateReport report = gate(records);
    ASSERT_EQ(failing(report), std::vector{Kind::bits});
    EXPECT_NE(report.findings[0].text.find("repeated runs had other bits"), std::string::npos);
    EXPECT_TRUE(run_gate(records, *make_baseline(records), {}, {})->passes());
  }
}

/// Atomics may agree in the repeats of one case by luck; what the path shows elsewhere counts.
TEST(Gate, APathThatGaveOtherBitsOnceIsAskedForNone) {
  for (const bool among_repeats : {false, true}) {
    auto before = four_records();
    Record again = before[3];
    if (among_repeats)
      before.push_back(record_of("gemm m=7", before[3].path, result_with(77, 64, 1))),
          before.back().order.run_to_run->bit_equal = false;
    else
      again.outputs.front() = result_with(98, 4096, 3), before.push_back(again);
    before.push_back(record_of("gemm m=1", before[3].path, result_with(5, 1, 1)));
    auto now = four_records();
    if (among_repeats) now.push_back(before[4]);
    now[3].outputs.front() = result_with(99, 4096, 3);
    now.push_back(record_of("gemm m=1", before[3].path, result_with(7, 1, 0)));  // one element, exact by luck
    const auto report = run_gate(now, *make_baseline(before), {}, {});
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->passes()) << gate_text(*report);
    EXPECT_EQ(failing(gate({now[0], now[1], now[2], now[3]})), std::vector{Kind::bits});
  }
}

TEST(Gate, ErrorsThatMovedAreDriftThoughInContract) {
  auto records = four_records();
  records[3].outputs.front() = result_with(99, 4096, 4.5);
  const GateReport report = gate(records);
  ASSERT_EQ(failing(report), (std::vector{Kind::bits, Kind::drift}));
  EXPECT_EQ(report.findings[1].tensor, "D");
  EXPECT_NE(gate_text(report).find("by chance"), std::string::npos);
}

TEST(Gate, FlakyResultsAreNeverHidden) {
  for (const bool last_passes : {true, false}) {
    auto records = four_records();
    Record again = records[0];
    (last_passes ? records[0] : again).verdict = Verdict::fail;
    records.push_back(again);
    EXPECT_EQ(failing(gate(records)), std::vector{Kind::flaky}) << last_passes;
  }
}

/// The last of several records is not the only one that counts.
TEST(Gate, EveryRecordOfACaseIsCompared) {
  for (const std::size_t changed : {3, 4}) {
    auto records = four_records();
    records.push_back(records[3]);
    records[changed].outputs.front() = result_with(99, 4096, 3);
    const GateReport report = gate(records);
    EXPECT_EQ(failing(report), std::vector{Kind::bits}) << changed;
    EXPECT_EQ(report.results, 4);
    EXPECT_EQ(report.same_bits, 3);
    records[changed].outputs.front() = result_with(4, 4096, 3);
    records[changed].verdict = Verdict::unsupported;
    EXPECT_EQ(failing(gate(records)), std::vector{Kind::not_judged}) << changed;
  }
  auto twice = four_records();
  twice.insert(twice.end(), {twice[0], twice[1], twice[2], twice[3]});
  EXPECT_TRUE(gate(twice).passes());
}

TEST(Gate, TwoDevicesOfOneNameAreToldApart) {
  auto records = four_records();
  records[3].device.id = "vulkan:1";  // a shard of the run was there
  EXPECT_TRUE(gate(records).passes());
  records.push_back(records[3]);
  records.back().device.id = "vulkan:0";
  const auto mixed = run_gate(records, *make_baseline(four_records()), {}, {});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("vulkan:1 and vulkan:0: choose with --device"), std::string::npos)
      << mixed.error().message;
  EXPECT_FALSE(make_baseline(records));
}

TEST(Gate, AResultWithoutBitsIsNotTakenForTheSame) {
  auto records = four_records();
  records[3].outputs.front().bits = 0;
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::bits});
}

TEST(Gate, ErrorsThatAreNoNumbersHaveMoved) {
  for (const double error : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    auto records = four_records();
    records[3].outputs.front().bits = 99;
    records[3].outputs.front().judgement.statistics.rms = error;
    EXPECT_EQ(failing(gate(records)), (std::vector{Kind::bits, Kind::drift})) << error;
  }
}

TEST(Gate, AFailureThatPassedWhenRunAgainIsFlaky) {
  auto records = four_records();
  records[0].verdict = Verdict::fail;
  records[0].reruns = {{Verdict::fail, "again", 2, 1}};
  EXPECT_EQ(failing(gate(records)), std::vector{Kind::contract});
  records[0].reruns.push_back({Verdict::pass, "", 0.5, 1});
  const GateReport report = gate(records);
  EXPECT_EQ(failing(report), std::vector{Kind::flaky});
  EXPECT_NE(gate_text(report).find("3 runs gave fail and pass"), std::string::npos) << gate_text(report);
}

TEST(Gate, TimesAreReportedAndFailOnlyWhenAsked) {
  auto records = four_records();
  records[0].device_seconds = {0.9, 0.8};
  const GateReport report = gate(records);
  EXPECT_TRUE(report.passes());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].path, "naive_f32");
  EXPECT_NE(report.findings[0].text.find("3.20 times"), std::string::npos) << report.findings[0].text;
  GateOptions options;
  options.fail_slower = 2;
  EXPECT_EQ(failing(gate(records, options)), std::vector{Kind::slower});
  // A slower machine has a slower reference too.
  records[0].reference_seconds = 1.6;
  EXPECT_TRUE(gate(records, options).findings.empty());
}

TEST(Gate, NewCasesAreSaidAndDoNotFail) {
  auto records = four_records();
  records.push_back(record_of("gemm m=3", "tiled_f32", result_with(9, 100, 1)));
  GateReport report = gate(records);
  EXPECT_TRUE(report.passes());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, Kind::fresh);
  EXPECT_NE(report.findings[0].text.find("parity bless"), std::string::npos);
  records.back().verdict = Verdict::fail;
  report = gate(records);
  EXPECT_EQ(failing(report), std::vector{Kind::contract});
  EXPECT_EQ(report.findings.size(), 1u);  // it cannot be blessed
}

TEST(Gate, NothingJudgedIsNoPass) {
  for (const Verdict verdict : {Verdict::unsupported, Verdict::untrusted}) {
    auto records = four_records();
    for (Record& record : records) record.verdict = verdict;
    const auto report = run_gate(records, *make_baseline(records), {}, {});
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->passes());
    EXPECT_EQ(report->failures(), 0);
    EXPECT_NE(gate_text(*report).find("gate: NOTHING JUDGED; 4 cases"), std::string::npos);
    EXPECT_NE(gate_junit(*report).find("failures=\"1\""), std::string::npos);
    records[0].verdict = Verdict::pass;
    EXPECT_TRUE(run_gate(records, *make_baseline(records), {}, {})->passes());
  }
}

TEST(Gate, WithoutACommonCaseNothingIsGreen) {
  const std::vector<Record> other = {record_of("linear m=3", "own", result_with(9, 100, 1))};
  const GateReport report = gate(other);
  EXPECT_FALSE(report.passes());
  const auto none = run_gate({}, *make_baseline(four_records()), {}, {});
  ASSERT_FALSE(none);
  auto records = four_records();
  records[1].device.name = "Another";
  EXPECT_FALSE(run_gate(records, *make_baseline(four_records()), {}, {}));
  records = four_records();
  records[1].provenance.commit = "def";
  const auto mixed = run_gate(records, *make_baseline(four_records()), {}, {});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("several commits"), std::string::npos);
}

TEST(Gate, WaiversExcuseForAWhileAndOnlyWhatHappens) {
  auto records = four_records();
  records[0].verdict = Verdict::fail;
  Waiver waiver;
  waiver.case_text = "gemm m=1*";
  waiver.reason = "known";
  waiver.expires = "2026-07-01";
  waiver.line = 1;
  GateReport report = gate(records, {}, {waiver});
  EXPECT_TRUE(report.passes());
  EXPECT_NE(gate_text(report).find("waived: known, until 2026-07-01"), std::string::npos);
  EXPECT_NE(gate_junit(report).find("skipped=\"1\""), std::string::npos);

  EXPECT_EQ(failing(gate(four_records(), {}, {waiver})), std::vector{Kind::waiver});
  waiver.device = "Another device";
  EXPECT_TRUE(gate(four_records(), {}, {waiver}).passes());
  waiver.device.clear();
  waiver.expires = "2026-06-01";
  EXPECT_EQ(failing(gate(records, {}, {waiver})), (std::vector{Kind::contract, Kind::waiver}));
}

TEST(Gate, WhatIsWrittenForOthersIsWellFormed) {
  auto records = four_records();
  records[0].verdict = Verdict::fail;
  records[0].reason = "50% <off>, two\nlines";
  const GateReport report = gate(records);
  const std::string annotations = gate_annotations(report);
  EXPECT_NE(
      annotations.find(
          "::error title=parity gate%3A contract::naive_f32 | gemm m=1: fail: 50%25 <off>, two%0Alines"),
      std::string::npos)
      << annotations;
  const std::string junit = gate_junit(report);
  EXPECT_NE(junit.find("tests=\"2\" failures=\"1\""), std::string::npos) << junit;
  EXPECT_EQ(junit.find("<off>"), std::string::npos);
  EXPECT_NE(gate_markdown(report).find("**failed**"), std::string::npos);
  // Twelve of a kind: ten are shown.
  std::vector<Record> many;
  for (int i = 0; i < 12; ++i)
    many.push_back(record_of("gemm m=1" + std::to_string(i), "p", result_with(9, 100, 1), Verdict::fail));
  EXPECT_NE(gate_text(gate(many)).find("and 2 more of this kind"), std::string::npos);
}

}  // namespace
}  // namespace parity
