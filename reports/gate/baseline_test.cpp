#include <gtest/gtest.h>

#include "reports/gate/bless.hpp"
#include "reports/gate/gate_testing.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

using namespace gate_testing;

std::vector<Record> two_records() {
  return {record_of("gemm m=2", "tiled_f32", result_with(2, 100, 1)),
          record_of("gemm m=1", "tiled_f32", result_with(1, 100, 1))};
}

TEST(Baseline, IsReadBackAsItWasWritten) {
  std::vector<Record> records = two_records();
  Record full = sample_record(Verdict::pass);
  full.device = records.front().device;
  full.outputs.front().judgement.statistics.elements = 1 << 16;  // no fewer than its histogram counts
  records.push_back(full);
  auto baseline = make_baseline(records);
  ASSERT_TRUE(baseline) << baseline.error().message;
  baseline->blessings = {{"first \"one\"", "A. Person", "2026-01-01T00:00:00Z", "abc", 3}};
  const std::string text = to_text(*baseline);
  const auto back = parse_baseline(text, "b.jsonl");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_text(*back), text);
  EXPECT_EQ(back->device, "A device");
  ASSERT_EQ(back->cases.size(), 3u);
  EXPECT_EQ(back->cases[0].case_text, "gemm m=1");
  EXPECT_EQ(back->blessings.front().reason, "first \"one\"");
  const BaselineOutput& output = back->cases[2].outputs.front();
  EXPECT_EQ(output.bits, 0x9f3u);
  EXPECT_EQ(output.histogram.size(), 49u);
  EXPECT_EQ(back->cases[0].time_ratio, 0.5);
  EXPECT_TRUE(back->cases[0].reproducible);
  EXPECT_EQ(back->cases[0].inputs, "A:01 B:02");
}

TEST(Baseline, OfSeveralDevicesThereIsNone) {
  auto records = two_records();
  records[1].device.name = "Another device";
  const auto baseline = make_baseline(records);
  ASSERT_FALSE(baseline);
  EXPECT_NE(baseline.error().message.find("--device"), std::string::npos);
  EXPECT_FALSE(make_baseline({}));
}

TEST(Baseline, OfSeveralRecordsOfACaseAFailureCounts) {
  for (const bool last : {false, true}) {
    auto records = two_records();
    records.push_back(records[0]);
    records[last ? 2 : 0].verdict = Verdict::fail;
    EXPECT_EQ(make_baseline(records)->cases[1].verdict, Verdict::fail) << last;
  }
}

TEST(Baseline, IsOfOneDriverAndCommit) {
  const auto message = [](const std::vector<Record>& records) {
    const auto baseline = make_baseline(records);
    return baseline ? std::string("no error") : baseline.error().message;
  };
  auto records = two_records();
  records[1].device.driver = "Driver 580";
  EXPECT_NE(message(records).find("several drivers ('Driver 570.86.15' and 'Driver 580')"),
            std::string::npos);
  records = two_records();
  records[1].provenance.commit = "def";
  EXPECT_NE(message(records).find("several commits ('abc' and 'def')"), std::string::npos);
}

TEST(Baseline, WhatCannotBeReadIsNamedWithItsLine) {
  const std::string good = to_text(*make_baseline(two_records()));
  const auto message = [](const std::string& text) {
    const auto read = parse_baseline(text, "b.jsonl");
    return read ? std::string("no error") : read.error().message;
  };
  EXPECT_NE(message("").find("empty"), std::string::npos);
  EXPECT_NE(message(good.substr(0, good.size() - 20)).find("b.jsonl:3: this is not a complete line"),
            std::string::npos);
  const std::string cases = good.substr(good.find('\n') + 1);
  EXPECT_NE(message(cases).find("b.jsonl:1: a baseline begins"), std::string::npos);
  EXPECT_NE(message(good + cases).find("b.jsonl:4: the cases are not sorted"), std::string::npos);
  std::string newer = good;
  newer.replace(newer.find("\"baseline\":1"), 12, "\"baseline\":9");
  EXPECT_NE(message(newer).find("schema 9"), std::string::npos);
  std::string long_histogram = good;
  const std::size_t at = long_histogram.find("\"first_bin\":") + 12;
  long_histogram.insert(at, "4");
  EXPECT_NE(message(long_histogram).find("more bins"), std::string::npos);
  std::string no_bin = good;
  no_bin.insert(at, "-");
  EXPECT_NE(message(no_bin).find("more bins"), std::string::npos);
}

TEST(Baseline, CutAtALineIsNoBaseline) {
  const std::string good = to_text(*make_baseline(two_records()));
  const std::string cut = good.substr(0, good.rfind('\n', good.size() - 2) + 1);
  const auto read = parse_baseline(cut, "b.jsonl");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("b.jsonl:1: the baseline has 2 cases by this line, and 1 follow"),
            std::string::npos)
      << read.error().message;
  std::string joined = good;
  joined.replace(joined.find("\"cases\":2"), 9, "\"cases\":1");
  EXPECT_FALSE(parse_baseline(joined, "b.jsonl"));
  // As baselines were written before.
  std::string older = cut;
  older.erase(older.find("\"cases\":2,"), 10);
  EXPECT_TRUE(parse_baseline(older, "b.jsonl"));
}

TEST(Baseline, EmptyLinesAreNothing) {
  const std::string good = to_text(*make_baseline(two_records()));
  std::string spaced = "\xef\xbb\xbf\n" + good + "\n";
  spaced.insert(good.find('\n') + 4, "\n \t\r\n");
  const auto read = parse_baseline(spaced, "b.jsonl");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_text(*read), good);
  EXPECT_NE(parse_baseline("\n\n", "b.jsonl").error().message.find("empty"), std::string::npos);
}

TEST(Baseline, FiguresThatNoRecordHasAreNamed) {
  const auto message = [](auto change) {
    Baseline baseline = *make_baseline(two_records());
    change(baseline.cases[1].outputs[0]);
    const auto read = parse_baseline(to_text(baseline), "b.jsonl");
    return read ? std::string("no error") : read.error().message;
  };
  const std::string place = "b.jsonl:3: the field 'outputs[0].";
  EXPECT_EQ(message([](BaselineOutput& o) { o.rms = -1; }), place + "rms' is -1 and should be 0 or more");
  EXPECT_EQ(message([](BaselineOutput& o) { o.max_bound_ratio = -0.5; }),
            place + "max_bound_ratio' is -0.5 and should be 0 or more");
  EXPECT_EQ(message([](BaselineOutput& o) { o.elements = -3; }),
            place + "elements' is -3 and should be 0 or more");
  EXPECT_EQ(message([](BaselineOutput& o) { o.histogram[1] = -7; }),
            place + "histogram[1]' is -7 and should be 0 or more");
  EXPECT_EQ(message([](BaselineOutput& o) { o.histogram[0] = INT64_MAX; }),
            place + "histogram' counts more elements than there are (100)");
  for (const std::size_t zeros : {0U, 3U})
    EXPECT_EQ(message([&](BaselineOutput& o) { o.rms = 2, o.histogram.assign(zeros, 0); }),
              place + "histogram' counts no element, and 'rms' is 2");
  EXPECT_EQ(message([](BaselineOutput& o) { o.bits = 0; }),
            place + "bits' is missing, which every result of a run has");
  // A result that is NaN by contract has no errors, one that was judged by `parity compare` no hash.
  EXPECT_EQ(message([](BaselineOutput& o) { o.rms = o.mean_signed = 0, o.histogram.clear(); }), "no error");
  EXPECT_EQ(message([](BaselineOutput& o) { o.bits = 0, o.port = ""; }), "no error");
  // What could not be read back is not blessed.
  auto records = two_records();
  records[0].outputs[0].judgement.statistics.rms = -1;
  const auto made = make_baseline(records);
  ASSERT_FALSE(made);
  EXPECT_EQ(
      made.error().message,
      "the record of 'gemm m=2' on tiled_f32: the field 'outputs[0].rms' is -1 and should be 0 or more; "
      "record it again");
}

TEST(Bless, TakesOverWhatFitsAndCountsWhatChanged) {
  const Baseline before = *make_baseline(two_records());
  auto records = two_records();
  records[0].outputs.front() = result_with(7, 100, 1);
  records[1].outputs.front() = result_with(8, 100, 1);
  const Baseline now = *make_baseline(records);

  const auto part = bless(before, now, {"gemm m=2*", ""}, {"why", "who", "today", "abc", 0});
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->cases[0].outputs[0].bits, 1u);
  EXPECT_EQ(part->cases[1].outputs[0].bits, 7u);
  ASSERT_EQ(part->blessings.size(), 1u);
  EXPECT_EQ(part->blessings[0].cases, 1);
  EXPECT_EQ(part->blessings[0].reason, "why");

  records.pop_back();
  const auto all = bless(before, *make_baseline(records), {}, {"why", "who", "today", "abc", 0});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->cases.size(), 1u);
  EXPECT_EQ(all->blessings[0].cases, 2);  // one changed, one taken out
}

TEST(Bless, WhatIsBrokenOrSaysNothingIsRefused) {
  const Baseline before = *make_baseline(two_records());
  const auto message = [&](const Baseline& now, const BlessedPart& part) {
    const auto blessed = bless(before, now, part, {"why", "who", "today", "abc", 0});
    return blessed ? std::string("no error") : blessed.error().message;
  };
  EXPECT_NE(message(before, {}).find("nothing to bless"), std::string::npos);
  EXPECT_NE(message(before, {"gru*", ""}).find("no record fits"), std::string::npos);
  auto records = two_records();
  records[0].verdict = Verdict::suspect;
  EXPECT_NE(message(*make_baseline(records), {}).find("suspect"), std::string::npos);
  records[0].verdict = Verdict::unsupported;
  EXPECT_EQ(message(*make_baseline(records), {}), "no error");
  records[0].device.name = records[1].device.name = "Another";
  EXPECT_NE(message(*make_baseline(records), {}).find("Another"), std::string::npos);
}

}  // namespace
}  // namespace parity
