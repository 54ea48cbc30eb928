#include "reports/summary.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/record_sample.hpp"
#include "reports/table.hpp"

namespace parity {
namespace {

Record plain(Verdict verdict, const std::string& path, double max_abs, std::int64_t elements) {
  Record record = sample_record(verdict);
  record.path = path;
  ErrorStatistics& s = record.outputs[0].judgement.statistics;
  s.max_abs = max_abs;
  s.mean_abs = max_abs / 2;
  s.elements = elements;
  s.cosine = 0.5 + max_abs / 10;
  s.max_bound_ratio = max_abs;
  return record;
}

TEST(Summary, RowsGatherCasesOfOnePath) {
  const std::vector<Record> records = {plain(Verdict::pass, "a", 1, 10), plain(Verdict::fail, "b", 2, 10),
                                       plain(Verdict::pass, "a", 3, 30)};
  const RunSummary summary = summarise(records);
  ASSERT_EQ(summary.devices.size(), 1u);
  ASSERT_EQ(summary.devices[0].paths.size(), 2u);
  const PathSummary& a = summary.devices[0].paths[0];
  EXPECT_EQ(a.cases, 2);
  EXPECT_EQ(a.worst, Verdict::pass);
  EXPECT_EQ(a.max_abs, 3);
  EXPECT_DOUBLE_EQ(a.mean_abs, (0.5 * 10 + 1.5 * 30) / 40);
  EXPECT_DOUBLE_EQ(a.cosine, 0.6);
  EXPECT_EQ(a.replay_compared, 12);
  EXPECT_EQ(a.replay_equal, 8);
  EXPECT_EQ(a.order_deviation, 0.75);
  EXPECT_EQ(a.order_unequal, 2);
  EXPECT_EQ(a.run_to_run_unequal, 2);
  EXPECT_EQ(summary.failed(), 1);
  EXPECT_EQ(summary.judged(), 3);
}

Record without_elements() {
  Record record = plain(Verdict::pass, "a", 0, 0);
  record.case_text = "gemm m=0 n=0 k=0";
  return record;
}

TEST(Summary, ResultsWithoutElementsJudgeNothing) {
  const std::vector<Record> alone = {without_elements(), without_elements()};
  EXPECT_EQ(summarise(alone).judged(), 0);
  EXPECT_EQ(summarise(alone).count(Verdict::pass), 2);
  const std::string table = to_table(summarise(alone));
  EXPECT_NE(table.find("NOTHING JUDGED: 2 pass"), std::string::npos) << table;
  EXPECT_NE(table.find("no element was compared"), std::string::npos) << table;

  // Beside others they are passes; a fault without an element (a write past the end) is a fault.
  const std::vector<Record> beside = {without_elements(), plain(Verdict::pass, "a", 1, 1)};
  EXPECT_EQ(summarise(beside).judged(), 1);
  EXPECT_EQ(why_nothing_judged(summarise(beside)), "");
  Record stray = without_elements();
  stray.verdict = Verdict::fail;
  EXPECT_EQ(summarise(std::vector<Record>{stray}).judged(), 1);
  EXPECT_EQ(summarise(std::vector<Record>{stray}).failed(), 1);
}

TEST(Summary, SizesOfErrorsComeFromPlainFillsWhereThereAreSome) {
  Record wide = plain(Verdict::pass, "a", 1e30, 10);
  wide.case_text = "gemm m=1 fill=wide seed=1";
  wide.outputs[0].judgement.statistics.max_bound_ratio = 0.9;
  Record normal = plain(Verdict::pass, "a", 0.5, 10);
  for (const auto& records : {std::vector<Record>{wide, normal}, std::vector<Record>{normal, wide}}) {
    const PathSummary row = summarise(records).devices.at(0).paths.at(0);
    EXPECT_EQ(row.max_abs, 0.5);
    EXPECT_EQ(row.mean_abs, 0.25);
    EXPECT_EQ(row.max_bound_ratio, 0.9);
  }
  EXPECT_EQ(summarise(std::vector<Record>{wide}).devices.at(0).paths.at(0).max_abs, 1e30);
  EXPECT_EQ(summarise(std::vector<Record>{wide, normal}, Rows::per_case).devices.at(0).paths.size(), 2u);
}

TEST(Summary, TheOrderSpreadComesFromPlainFills) {
  Record subnormal = plain(Verdict::pass, "a", 1, 10);
  subnormal.case_text = "gemm m=1 fill=subnormal seed=1";
  subnormal.order.run_to_run.reset();
  subnormal.order.permutation->bit_equal = false;
  subnormal.order.permutation->rms_deviation_sigma = 7.9e4;  // a device that flushes
  const Record normal = plain(Verdict::pass, "a", 1, 10);
  for (const auto& records :
       {std::vector<Record>{subnormal, normal}, std::vector<Record>{normal, subnormal}}) {
    const PathSummary row = summarise(records).devices.at(0).paths.at(0);
    EXPECT_EQ(row.order_deviation, 0.75);
    EXPECT_EQ(row.order_unequal, 1);
  }
  EXPECT_EQ(order_text(summarise(std::vector<Record>{subnormal}).devices.at(0).paths.at(0)), "bits differ");

  // Runs that differ are shown whatever the fill.
  Record unsteady = subnormal;
  unsteady.order.run_to_run = normal.order.run_to_run;
  Record quiet = normal;
  quiet.order = {};
  EXPECT_EQ(order_text(summarise(std::vector<Record>{quiet, unsteady}).devices.at(0).paths.at(0)),
            "runs differ");
}

TEST(Summary, ANotANumberIsNeverHidden) {
  const std::vector<Record> records = {plain(Verdict::pass, "a", 1, 10),
                                       plain(Verdict::fail, "a", std::nan(""), 10),
                                       plain(Verdict::pass, "a", 2, 10)};
  const PathSummary row = summarise(records).devices.at(0).paths.at(0);
  EXPECT_TRUE(std::isnan(row.max_bound_ratio));
  EXPECT_EQ(row.worst, Verdict::fail);
}

TEST(Summary, UnsupportedIsGroupedByReasonAndJudgesNothing) {
  Record none = plain(Verdict::unsupported, "a", 0, 0);
  none.outputs.clear();
  none.reason = "no fp16";
  Record other = none;
  other.path = "b";
  const RunSummary summary = summarise(std::vector<Record>{none, none, other});
  EXPECT_EQ(summary.judged(), 0);
  EXPECT_EQ(summary.failed(), 0);
  ASSERT_EQ(summary.unsupported.size(), 1u);
  EXPECT_EQ(summary.unsupported[0].where,
            (std::vector<std::string>{"vulkan:1 gemm a (2 cases)", "vulkan:1 gemm b (1 case)"}));
  EXPECT_NE(to_table(summary).find("NOTHING JUDGED: 3 unsupported"), std::string::npos);
}

TEST(Summary, NumbersKeepTheDigitsThatMatter) {
  EXPECT_EQ(cosine_text(1), "1");
  EXPECT_EQ(cosine_text(1 + 1e-16), "1");
  EXPECT_EQ(cosine_text(1 - 2.5e-8), "1-2.5e-08");
  EXPECT_EQ(cosine_text(0.5), "0.5000");
  EXPECT_EQ(cosine_text(std::nan("")), "nan");
  EXPECT_EQ(replay_text(0, 0), "-");
  EXPECT_EQ(replay_text(7, 7), "equal");
  EXPECT_EQ(replay_text(999999, 1000000), "99.99%");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(1234567), "1.23e+06");
}

TEST(Table, ColoursOnlyWhenAskedAndColumnsAligned) {
  const RunSummary summary =
      summarise(std::vector<Record>{plain(Verdict::pass, "a", 1, 10), plain(Verdict::fail, "longer", 2, 10)});
  const std::string text = to_table(summary);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(to_table(summary, {true}).find("\033[1;31mfail"), std::string::npos);
  EXPECT_NE(text.find("FAILED: 1 pass, 1 fail (1 of the failures flaky) on 1 device\n"), std::string::npos)
      << text;
  const std::vector<std::string> missing = {"log: 1 of 3 recorded; the run was interrupted"};
  EXPECT_NE(to_table(summary, {false, missing})
                .find("Incomplete: log: 1 of 3 recorded; the run was interrupted\nFAILED: "),
            std::string::npos);
  const RunSummary green = summarise(std::vector<Record>{plain(Verdict::pass, "a", 1, 10)});
  EXPECT_NE(to_table(green).find("passed: 1 pass"), std::string::npos);
  EXPECT_NE(to_table(green, {false, missing}).find("INCOMPLETE: 1 pass"), std::string::npos);
  // The verdict stands at the same place in every row.
  const auto column = [&](const char* word) {
    const std::size_t at = text.find(word);
    return at - text.rfind('\n', at);
  };
  EXPECT_EQ(column("verdict"), column("pass\n"));
  EXPECT_EQ(column("verdict"), column("fail\n"));
}

}  // namespace
}  // namespace parity
