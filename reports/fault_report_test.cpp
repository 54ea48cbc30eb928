#include <gtest/gtest.h>

#include "reports/fault_picture.hpp"
#include "reports/fault_text.hpp"

namespace parity {
namespace {

using faults::Check;
using faults::Outcome;

faults::TrialResult fault_trial(const std::string& fault, Outcome outcome, double severity = 0) {
  faults::TrialResult trial;
  trial.fault = fault;
  trial.case_text = "gemm m=3 n=3 k=3 in=f16 acc=f32 out=f16 fill=normal seed=1";
  trial.path = "tiled <f16>";
  trial.device = "vulkan:0";
  trial.rung = 1;
  trial.nominal = severity == 0 || severity == 0.1;
  trial.severity = severity;
  trial.outcome = outcome;
  trial.verdict = outcome == Outcome::caught ? Verdict::fail : Verdict::pass;
  if (outcome == Outcome::caught) {
    trial.findings[static_cast<std::size_t>(Check::replay)] = true;
    trial.thresholds[2] = true;
  }
  trial.reason = "a & b";
  return trial;
}

/// Caught, missed with and without a reason, never acting, absent; three severities.
FaultRun sample_run() {
  FaultRun run;
  run.device = "vulkan:0";
  run.name = "A <GPU>";
  run.seeds = 2;
  run.complete = true;
  for (const char* name : {"caught", "missed", "idle", "absent", "known"}) {
    FaultEntry entry;
    entry.name = name;
    entry.what = "it is | wrong";
    entry.rung = 1;
    entry.kind = "kernel";
    run.entries.push_back(entry);
  }
  run.entries[0].severity_unit = "relative change";
  run.entries[3].absent = "no threads";
  run.entries[4].known_miss = "too small";
  for (const double severity : {0.1, 0.01, 0.001})
    for (int i = 0; i < 4; ++i)
      run.trials.push_back(
          fault_trial("caught", severity < 0.005 && i > 0 ? Outcome::missed : Outcome::caught, severity));
  run.trials.push_back(fault_trial("missed", Outcome::missed));
  run.trials.push_back(fault_trial("missed", Outcome::caught));
  run.trials.push_back(fault_trial("idle", Outcome::idle));
  run.trials.push_back(fault_trial("known", Outcome::missed));
  HealthyEntry healthy;
  healthy.case_text = "gemm m=3";
  healthy.tensors = 300;
  healthy.thresholds[2] = true;
  run.healthy = {healthy, healthy};
  return run;
}

std::string log_of(const FaultRun& run) {
  std::string text = begin_line(run) + "\n";
  for (const FaultEntry& entry : run.entries) text += to_json_line(entry) + "\n";
  for (const faults::TrialResult& trial : run.trials) text += to_json_line(trial) + "\n";
  for (const HealthyEntry& entry : run.healthy) text += to_json_line(entry) + "\n";
  return text + end_line() + "\n";
}

TEST(FaultLog, ReadsWhatItWrote) {
  const std::string text = log_of(sample_run());
  const auto runs = parse_fault_log(text + text, "log");
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ(log_of(runs->front()), text);
  EXPECT_TRUE(runs->back().complete);
}

TEST(FaultLog, ATornLineIsLeftOutAndAWrongOneIsNamed) {
  const std::string text = log_of(sample_run());
  const auto torn = parse_fault_log(text.substr(0, text.size() - 9), "log");
  ASSERT_TRUE(torn) << torn.error().message;
  EXPECT_FALSE(torn->front().complete);
  EXPECT_EQ(torn->front().healthy.size(), 2u);
  const auto wrong = parse_fault_log(text.substr(0, 300) + "\n" + text, "log");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("log:2"), std::string::npos) << wrong.error().message;
  EXPECT_FALSE(parse_fault_log("", "log"));
}

TEST(FaultLog, RunsWithOtherFaultsAddToTheLatestLikeThem) {
  const FaultRun first = sample_run();
  FaultRun more = first, held_out = first, newer = first;
  for (FaultEntry& entry : more.entries) entry.name += "-too";
  for (faults::TrialResult& trial : more.trials) trial.fault += "-too";
  more.commit = newer.commit = "later";
  held_out.held_out = true;
  newer.driver = "newer";
  const auto joined = joined_runs({first, first, held_out, newer, more});
  ASSERT_EQ(joined.size(), 4u) << "the same faults again, held out, or with another driver are runs apart";
  EXPECT_EQ(fraction(summarise(joined[0]).faults), "1/4");
  EXPECT_EQ(fraction(summarise(joined[1]).faults), "2/8");
  EXPECT_EQ(fraction(summarise(joined[1]).nominal), "10/14");
  EXPECT_EQ(joined[1].healthy.size(), 4u);
  EXPECT_EQ(fraction(summarise(joined[2]).faults), "1/4");
  EXPECT_EQ(joined[3].entries.size(), first.entries.size());
  more.complete = false;
  EXPECT_FALSE(joined_runs({first, more}).front().complete);
}

TEST(FaultSummary, CountsWhatActedAndExplainsTheRest) {
  const FaultRun run = sample_run();
  const FaultSummary summary = summarise(run);
  EXPECT_EQ(fraction(summary.faults), "1/4");
  EXPECT_EQ(fraction(summary.nominal), "5/7");  // 4 of 4, 1 of 2, none of 1; the idle one is in no rate
  EXPECT_EQ(fraction(summary.checks[static_cast<std::size_t>(Check::replay)]), "5/7");
  EXPECT_EQ(summary.unexplained, 2);  // one partly missed, one that never acts; the known one has its reason
  EXPECT_FALSE(summary.satisfied());
  EXPECT_EQ(summary.healthy_tensors, 600);
  EXPECT_EQ(summary.healthy_thresholds[2], 2);
  ASSERT_EQ(summary.curves.size(), 1u);
  EXPECT_EQ(summary.curves[0].name(), "caught, f16");
  EXPECT_EQ(summary.curves[0].detectable, 0.01);
  EXPECT_FALSE(summary.curves[0].detectable_by_bounds) << "only bits saw it";
}

TEST(FaultReports, NameEveryFault) {
  const FaultRun run = sample_run();
  const std::vector<FaultSummary> summaries{summarise(run)};
  const std::string table = fault_table(summaries.front()), page = fault_markdown(summaries, true);
  for (const char* part : {"absent: no threads", "known: too small", "idle: UNEXPLAINED: it acts in none",
                           "0.01 relative change", "0 of 2 healthy cases stopped, 600 tensors"})
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  for (const char* part : {"it is \\| wrong", "## Missed", "no threads: absent", "(faults_vulkan-0.svg)"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  const auto pictures = fault_pictures(summaries);
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_NE(pictures[0].svg.find("A &lt;GPU&gt;"), std::string::npos);
  EXPECT_NE(pictures[0].svg.find("missed (missed)"), std::string::npos);
  EXPECT_EQ(pictures[0].svg.find(">absent<"), std::string::npos);
  EXPECT_NE(pictures[1].svg.find("caught, f16"), std::string::npos);
}

}  // namespace
}  // namespace parity
