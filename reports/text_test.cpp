#include <gtest/gtest.h>

#include "reports/failure_text.hpp"
#include "reports/markdown.hpp"
#include "reports/order_text.hpp"
#include "reports/record_sample.hpp"
#include "reports/statistics_text.hpp"

namespace parity {
namespace {

void expect_holds(const std::string& text, const char* part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
}

TEST(FailureText, SaysReasonPlaceElementsAndRepro) {
  const std::string text = failure_text(sample_record());
  expect_holds(text, "fail: gemm m=2 n=3 k=5");
  expect_holds(text, "tiled_f16_f32 of vulkan:1");
  expect_holds(text, "17 elements beyond the hard bound");
  expect_holds(text, "where: column 2");
  expect_holds(text, "[1, 2]");
  expect_holds(text, "0x7e01");
  expect_holds(text, "nan");
  expect_holds(text, "spread of tile 4 of batch entry 3: 12.5 standard deviations");
  expect_holds(text, "replay as sequential fma: 4 of 6 elements have equal bits");
  expect_holds(text, "written outside D: 8 bytes, the first at byte -16");
  expect_holds(text, "again: parity run --case 'gemm m=2' --device vulkan:1 --path tiled_f16_f32\n");
}

TEST(FailureText, ShowsAsManyElementsAsAsked) {
  EXPECT_NE(failure_text(sample_record(), 2).find("0xc000"), std::string::npos);
  EXPECT_EQ(failure_text(sample_record(), 1).find("0xc000"), std::string::npos);
}

TEST(Markdown, OutcomeTableFailuresAndReasons) {
  std::vector<Record> records = {sample_record(Verdict::pass), sample_record(Verdict::fail),
                                 sample_record(Verdict::unsupported)};
  records[2].reason = "no | fp16";
  const std::string text = to_markdown(records);
  expect_holds(text, "# Parity ladder: failed");
  expect_holds(text, "1 pass, 1 fail, 1 unsupported");
  expect_holds(text, "| gemm | tiled\\_f16\\_f32 | 3 |");
  expect_holds(text, "```text\nfail: gemm");
  expect_holds(text, "- no \\| fp16");
  EXPECT_NE(to_markdown({}).find("nothing was judged"), std::string::npos);
}

TEST(Markdown, WithSomethingMissingItIsNoPass) {
  const std::vector<std::string> missing = {"r_1: 1 of 3 recorded; the run was interrupted"};
  std::vector<Record> records = {sample_record(Verdict::pass)};
  expect_holds(to_markdown(records), "# Parity ladder: passed");
  expect_holds(to_markdown(records, {missing}), "# Parity ladder: incomplete");
  expect_holds(to_markdown(records, {missing}),
               "**Incomplete:** r\\_1: 1 of 3 recorded; the run was interrupted.");
  records.push_back(sample_record(Verdict::fail));
  expect_holds(to_markdown(records, {missing}), "# Parity ladder: failed");
}

TEST(Markdown, ManyFailuresAreCutShortAndCounted) {
  const std::vector<Record> records(5, sample_record());
  expect_holds(to_markdown(records, {.failures = 2}), "And 3 more");
}

TEST(OrderText, OneLineAnExperiment) {
  const auto lines = order_lines(sample_record().order);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(
      lines[0],
      "run to run: 2 of 12 elements differ over 3 results, at most 1 ulp, rms 0.5 ulp (deviation 0.75 of the "
      "predicted)");
  EXPECT_EQ(lines[1], "permuted reduction: same bits (2 results, 6 elements)");
  EXPECT_TRUE(lines[3].starts_with("gemm, split 4 k: 3 of 6 elements differ")) << lines[3];
  EXPECT_EQ(lines[4], "gemm, alone rows: same bits (2 results, 6 elements)");
}

TEST(StatisticsText, HoldsEveryStatistic) {
  const std::string text = statistics_text(sample_record().outputs[0]);
  for (const char* part :
       {"6 f16 [2, 3]", "1 NaN, 2 Inf, 3 where", "4 NaN missing", "5 never written", "max inf", "NMSE 2e-16",
        "worst row -inf", "99.9% 3", "1e+30 of the expected spread", "8 beyond", "exact: bits are required",
        "store truncates", "4 of 6 bits equal to sequential fma"})
    expect_holds(text, part);
}

}  // namespace
}  // namespace parity
