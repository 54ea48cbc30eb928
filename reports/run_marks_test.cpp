#include "reports/run_marks.hpp"

#include <gtest/gtest.h>

#include "reports/record_json.hpp"
#include "reports/record_log.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

std::string plan(std::int64_t cases, const std::string& identity = "") {
  RunMark mark;
  mark.cases = cases;
  mark.suite = "smoke";
  mark.plan = identity;
  return to_json_line(mark) + "\n";
}

std::string end(bool complete, std::int64_t recorded) {
  return to_json_line(EndMark{complete, recorded}) + "\n";
}

std::string records(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += to_json_line(sample_record(Verdict::pass)) + "\n";
  return text;
}

std::vector<std::string> missing(const std::string& text) {
  const auto logged = parse_record_log(text, "log");
  EXPECT_TRUE(logged) << logged.error().message;
  return logged ? logged->missing : std::vector<std::string>{"unreadable"};
}

using Sentences = std::vector<std::string>;

TEST(RunMarks, ReadBackWhatWasWritten) {
  const RunMark mark{12,    "smoke", "gemm \"a\"\xff",       "tiled_f32",   "1f2e",
                     "abc", "0.1",   "2026-01-01T00:00:00Z", "--repeats 3", {"a", "b"},
                     true};
  const std::string line = to_json_line(mark);
  ASSERT_TRUE(is_run_mark(line));
  EXPECT_FALSE(is_end_mark(line));
  const auto read = parse_run_mark(line);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->cases, 12);
  EXPECT_EQ(read->suite, "smoke");
  EXPECT_EQ(read->filter, "gemm \"a\"\xef\xbf\xbd");
  EXPECT_EQ(read->path, "tiled_f32");
  EXPECT_EQ(read->plan, "1f2e");
  EXPECT_EQ(read->commit, "abc");
  EXPECT_EQ(read->version, "0.1");
  EXPECT_EQ(read->started, "2026-01-01T00:00:00Z");
  EXPECT_EQ(read->settings, "--repeats 3");
  EXPECT_EQ(read->devices, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(read->resumes);
  EXPECT_FALSE(parse_run_mark(plan(1))->resumes);
  const auto closed = parse_end_mark(to_json_line(EndMark{true, 7}));
  ASSERT_TRUE(closed);
  EXPECT_TRUE(closed->complete);
  EXPECT_EQ(closed->recorded, 7);
  EXPECT_FALSE(parse_end_mark(to_json_line(EndMark{false, 7}))->complete);
}

TEST(RunMarks, ARunOnAnotherDeviceFillsNoGap) {
  RunMark mark;
  mark.cases = 2;
  mark.plan = "1f2e";  // of the devices' names
  mark.devices = {"cuda:0 H200"};
  const std::string first = to_json_line(mark) + "\n" + records(1);
  EXPECT_EQ(missing(first + to_json_line(mark) + "\n" + records(2) + end(true, 2)), Sentences{});
  mark.devices = {"cuda:1 H200"};
  EXPECT_EQ(missing(first + to_json_line(mark) + "\n" + records(2) + end(true, 2)).size(), 1u);
}

TEST(RunMarks, ShardsSayHowThePlanIsSharedOut) {
  RunMark mark;
  mark.plan = "1f2e";
  mark.shard = 1;
  mark.shards = 2;
  mark.division = "aa";
  EXPECT_EQ(parse_run_mark(to_json_line(mark))->division, "aa");
  RunMark other = mark;
  other.division = "bb";
  EXPECT_NE(identity_of(mark), identity_of(other));
}

TEST(RunMarks, WrongMarksNameTheField) {
  for (const char* line : {R"({"plan":3})", R"({"plan":{}})", R"({"plan":{"cases":-1}})",
                           R"({"plan":{"cases")", R"({"plan":{"cases":18446744073709551615}})"}) {
    EXPECT_TRUE(is_run_mark(line));
    EXPECT_FALSE(parse_run_mark(line)) << line;
    EXPECT_FALSE(parse_record_log(std::string(line) + "\n", "log")) << line;
  }
  for (const char* line : {R"({"end":{"recorded":1}})", R"({"end":{"recorded":1,"outcome":"fine"}})",
                           R"({"end":{"outcome":"complete"}})"})
    EXPECT_FALSE(parse_end_mark(line)) << line;
  EXPECT_NE(parse_run_mark(R"({"plan":{}})").error().message.find("'cases'"), std::string::npos);
}

TEST(RunMarks, AWholeRunMissesNothing) {
  EXPECT_EQ(missing(plan(3) + records(3) + end(true, 3)), Sentences{});
  EXPECT_EQ(missing(plan(1) + records(1) + end(true, 1) + plan(2) + records(2) + end(true, 2)), Sentences{});
}

TEST(RunMarks, RecordsWithoutMarksAreStillRead) {
  EXPECT_EQ(missing(""), Sentences{});
  EXPECT_EQ(missing(records(2)), Sentences{});
  EXPECT_EQ(missing(records(2) + plan(1) + records(1) + end(true, 1)), Sentences{});
}

TEST(RunMarks, WhatAKilledRunLeftIsCounted) {
  EXPECT_EQ(missing(plan(3)), Sentences{"log: 0 of 3 recorded; the run was interrupted"});
  EXPECT_EQ(missing(plan(3) + records(2)), Sentences{"log: 2 of 3 recorded; the run was interrupted"});
  // All were recorded and the end was not: something after the last case went wrong.
  EXPECT_EQ(missing(plan(2) + records(2)), Sentences{"log: 2 of 2 recorded; the run was interrupted"});
  EXPECT_EQ(missing(plan(3) + records(2) + end(false, 2)),
            Sentences{"log: 2 of 3 recorded; the run was interrupted"});
  const std::string torn = records(1).substr(0, 40);
  EXPECT_EQ(missing(plan(3) + records(1) + torn), Sentences{"log: 1 of 3 recorded; the run was interrupted"});
  EXPECT_EQ(missing(records(1) + torn), Sentences{"log: the last record is torn; the run was interrupted"});
  EXPECT_EQ(missing(plan(3).substr(0, 20)),
            Sentences{"log: the last record is torn; the run was interrupted"});
}

TEST(RunMarks, EachRunOfALogIsCountedByItself) {
  EXPECT_EQ(missing(plan(3) + records(1) + plan(2) + records(2) + end(true, 2)),
            Sentences{"log: 1 of 3 recorded; the run was interrupted"});
  EXPECT_EQ(missing(plan(1) + records(1) + end(true, 1) + plan(5) + records(2)),
            Sentences{"log: 2 of 5 recorded; the run was interrupted"});
}

TEST(RunMarks, AWholeRunOfTheSamePlanFillsTheGapsBeforeIt) {
  const std::string killed = plan(3, "1f") + records(1), whole = plan(3, "1f") + records(3) + end(true, 3);
  const Sentences gap{"log: 1 of 3 recorded; the run was interrupted"};
  EXPECT_EQ(missing(killed + whole), Sentences{});
  EXPECT_EQ(missing(killed + killed + end(false, 1) + whole), Sentences{});
  // Another plan, a run that is not whole either, and one that came before fill nothing.
  EXPECT_EQ(missing(killed + plan(3, "2e") + records(3) + end(true, 3)), gap);
  EXPECT_EQ(missing(killed + plan(3, "1f") + records(2) + end(true, 3)),
            (Sentences{gap.front(), "log: 2 of 3 recorded; lines are gone"}));
  EXPECT_EQ(missing(whole + killed), gap);
}

std::string resumed(std::int64_t cases, const std::string& identity) {
  RunMark mark;
  mark.cases = cases;
  mark.plan = identity;
  mark.resumes = true;
  return to_json_line(mark) + "\n";
}

TEST(RunMarks, AResumedRunIsOneRun) {
  const std::string killed = plan(4, "1f") + records(1);
  EXPECT_EQ(missing(killed + resumed(4, "1f") + records(3) + end(true, 4)), Sentences{});
  EXPECT_EQ(missing(killed + resumed(4, "1f") + records(1) + end(false, 2) + resumed(4, "1f") + records(2) +
                    end(true, 4)),
            Sentences{});
  // Each of them interrupted: what is missing now, once.
  EXPECT_EQ(missing(killed + resumed(4, "1f") + records(1) + resumed(4, "1f") + records(1)),
            Sentences{"log: 3 of 4 recorded; the run was interrupted"});
  EXPECT_EQ(missing(plan(4, "1f") + resumed(4, "1f") + records(3) + end(true, 4)),
            Sentences{"log: 3 of 4 recorded; lines are gone"});
  const auto logged = parse_record_log(
      plan(1, "2e") + records(1) + end(true, 1) + killed + resumed(4, "1f") + records(3) + end(true, 4),
      "log");
  ASSERT_TRUE(logged);
  ASSERT_EQ(logged->runs.size(), 2u);
  EXPECT_EQ(logged->runs[1].records, (std::vector<std::size_t>{1, 2, 3, 4}));
  EXPECT_TRUE(logged->runs[1].complete);
}

TEST(RunMarks, LinesThatAreGoneAreMissed) {
  EXPECT_EQ(missing(plan(3) + records(2) + end(true, 3)), Sentences{"log: 2 of 3 recorded; lines are gone"});
  EXPECT_EQ(missing(records(2) + end(true, 3)), Sentences{"log: 2 of 3 recorded; lines are gone"});
}

TEST(RunMarks, AnEmptyLastLineIsSaidAndNothingIsMissing) {
  const auto logged = parse_record_log(plan(1) + records(1) + end(true, 1) + "\n", "log");
  ASSERT_TRUE(logged);
  EXPECT_EQ(logged->note, "log:4: the last line is empty; left out");
  EXPECT_TRUE(logged->missing.empty());
  EXPECT_EQ(parse_record_log(plan(1) + "\n" + records(1) + end(true, 1), "log")->note, "");
}

}  // namespace
}  // namespace parity
