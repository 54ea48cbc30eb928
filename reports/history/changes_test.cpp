#include "reports/history/changes.hpp"

#include <gtest/gtest.h>

#include "reports/history/history_testing.hpp"
#include "reports/history/history_text.hpp"

namespace parity {
namespace {

using namespace history_testing;
using gate_testing::result_with;
using Kind = HistoryChange::Kind;

/// What a history hands out of these records, without a file.
struct MadeHistory {
  std::vector<HistoryRun> runs;
  HistorySeries series;

  explicit MadeHistory(const std::vector<Record>& records) {
    for (const Record& r : records) {
      const BaselineCase kept = baseline_case(r);
      HistoryPoint point;
      point.run = runs.size();
      point.verdict = r.verdict;
      point.reason = r.reason;
      point.reproducible = kept.reproducible;
      point.inputs = kept.inputs;
      point.time_ratio = kept.time_ratio;
      for (const BaselineOutput& output : kept.outputs) point.outputs.push_back({output, 1, 2, 3});
      runs.push_back({r.device.id, r.device.backend, r.device.name, r.device.driver, r.provenance.commit,
                      r.provenance.version, r.provenance.flags, r.provenance.started});
      series.points.push_back(std::move(point));
    }
    series.case_text = records.front().case_text;
    series.path = records.front().path;
  }
  std::vector<HistoryChange> changes(ChangeOptions options = {}) const {
    ChangeFinder finder(runs, std::move(options));
    finder.add(series);
    return finder.changes();
  }
};

ChangeOptions asked_for(Statistic statistic) {
  ChangeOptions options;
  options.statistic = statistic;
  return options;
}

/// Records of runs with these spreads, whose bits differ from run to run.
std::vector<Record> with_spreads(const std::vector<double>& spreads) {
  std::vector<Record> records;
  for (const double spread : spreads) {
    records.push_back(recorded(static_cast<int>(records.size()), spread));
    records.back().order.run_to_run->bit_equal = false;
  }
  return records;
}

TEST(HistoryChanges, ErrorsThatMovedAreFoundAtTheirRunAndNowhereElse) {
  EXPECT_TRUE(MadeHistory(with_spreads({3, 3, 3, 3, 3, 3})).changes().empty());
  auto records = with_spreads({3, 3, 3, 4.5, 4.5, 4.5});
  for (std::size_t i = 3; i < 6; ++i) records[i].device.driver = "Driver 580";
  const MadeHistory history(records);
  const auto changes = history.changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].kind, Kind::errors);
  EXPECT_EQ(changes[0].figure, "rms_error");
  EXPECT_EQ(changes[0].before, 2u);
  EXPECT_EQ(changes[0].after, 3u);
  EXPECT_NEAR(changes[0].size, 1.5, 0.1);
  EXPECT_NE(changes[0].why.find("by chance"), std::string::npos);
  const std::string text = history_text(history.runs, changes, false);
  EXPECT_NE(
      text.find("2026-01-04T00:00:00Z: vulkan A device: commit commit2 -> commit3, driver Driver 570.86.15 "
                "-> Driver 580\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  0.0045      1  tiled_f32  gemm m=1 -> D"), std::string::npos) << text;
}

TEST(HistoryChanges, ErrorsThatGrowSlowlyAreFoundWhenTheyHaveGrown) {
  std::vector<double> spreads;
  for (int i = 0; i < 10; ++i) spreads.push_back(3 * std::pow(1.06, i));
  const auto changes = MadeHistory(with_spreads(spreads)).changes();
  ASSERT_GE(changes.size(), 2u);
  EXPECT_GT(changes[0].size, 1.1);
}

TEST(HistoryChanges, BitsInputsAndVerdicts) {
  std::vector<Record> records;
  for (int i = 0; i < 5; ++i) {
    records.push_back(recorded(i, 3));
    records[static_cast<std::size_t>(i)].outputs = {result_with(i < 2 ? 1 : 2, 4096, 3)};
  }
  records[4].verdict = Verdict::fail;
  records[4].reason = "1 of 4096 elements";
  auto changes = MadeHistory(records).changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].kind, Kind::bits);
  EXPECT_EQ(changes[0].after, 2u);
  EXPECT_EQ(changes[1].kind, Kind::verdict);
  EXPECT_EQ(changes[1].after, 4u);
  EXPECT_EQ(changes[1].was + changes[1].is + changes[1].why, "passfail1 of 4096 elements");

  EXPECT_EQ(MadeHistory(records).changes(asked_for(Statistic::verdict)).size(), 1u);
  EXPECT_EQ(MadeHistory(records).changes(asked_for(Statistic::bits)).size(), 1u);
  EXPECT_TRUE(MadeHistory(records).changes(asked_for(Statistic::max_error)).empty());
  ChangeOptions other;
  other.output = "E*";
  EXPECT_TRUE(MadeHistory(records).changes(other).empty());

  // Where runs differ among themselves, other bits say nothing; with other inputs nothing can be compared.
  records[2].order.run_to_run->bit_equal = false;
  EXPECT_EQ(MadeHistory(records).changes().size(), 1u);
  records[2].order.run_to_run->bit_equal = true;
  for (std::size_t i = 2; i < 5; ++i) {
    records[i].input_hashes["A"] = "99";
    records[i].outputs = {result_with(9, 4096, 300)};
  }
  changes = MadeHistory(records).changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].kind, Kind::inputs);
}

TEST(HistoryChanges, AFigureIsShownAndTheMeanIsItsOwn) {
  auto records = with_spreads({3, 3, 3});
  records[2].outputs = {result_with(7, 4096, 3, 1)};
  const auto mean = MadeHistory(records).changes(asked_for(Statistic::mean_error));
  ASSERT_EQ(mean.size(), 1u);
  EXPECT_EQ(mean[0].figure, "mean_error");
  EXPECT_NE(mean[0].why.find("standard errors apart"), std::string::npos);
  records[2].outputs = {result_with(7, 4096, 30)};
  const auto bound = MadeHistory(records).changes(asked_for(Statistic::max_err_over_bound));
  ASSERT_EQ(bound.size(), 1u);
  EXPECT_EQ(bound[0].was, "0.4");
  EXPECT_TRUE(MadeHistory(records).changes(asked_for(Statistic::mean_error)).empty());
}

TEST(HistoryChanges, TimesAreComparedByTheMedianOfAPath) {
  std::vector<MadeHistory> cases;
  for (int c = 0; c < 5; ++c) {
    std::vector<Record> records;
    for (int run = 0; run < 4; ++run) {
      records.push_back(recorded(run, 3, fmt::format("gemm m={}", c)));
      // One case in a slow moment; all of them from the third run on.
      records.back().device_seconds = {run >= 2 || (c == 0 && run == 1) ? 2.0 : 1.0};
    }
    cases.emplace_back(records);
  }
  ChangeFinder finder(cases.front().runs, asked_for(Statistic::seconds));
  for (const MadeHistory& one : cases) finder.add(one.series);
  const auto changes = finder.changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].kind, Kind::time);
  EXPECT_EQ(changes[0].before, 1u);
  EXPECT_EQ(changes[0].after, 2u);
  EXPECT_EQ(changes[0].is, "2.00");
}

TEST(HistoryChanges, CasesThatChangedTogetherAreOneRow) {
  std::vector<MadeHistory> cases;
  for (int c = 1; c < 4; ++c) {
    auto records = with_spreads({3, 3, 3.0 + 2 * c});
    for (Record& r : records) r.case_text = fmt::format("gemm m={}", c);
    cases.emplace_back(records);
  }
  ChangeFinder finder(cases.front().runs, asked_for(Statistic::rms_error));
  for (const MadeHistory& one : cases) finder.add(one.series);
  const auto changes = finder.changes();
  ASSERT_EQ(changes.size(), 3u);
  const std::string text = history_text(cases.front().runs, changes, false);
  EXPECT_NE(text.find("    3  tiled_f32  gemm m=3 -> D"), std::string::npos) << text;
  EXPECT_EQ(text.find("gemm m=1"), std::string::npos);
  EXPECT_NE(history_text(cases.front().runs, changes, true).find("gemm m=1"), std::string::npos);
  EXPECT_NE(history_json(cases.front().runs, changes[0]).find("\"commit\":\"commit2\""), std::string::npos);
}

}  // namespace
}  // namespace parity
