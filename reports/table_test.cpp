#include "reports/table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "reports/markdown.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

Record with_drift(const std::string& path, std::vector<DriftRecord> drift, const char* fill = "normal") {
  Record record = sample_record(Verdict::pass);
  record.path = path;
  record.case_text = std::string("gru_cell batch=1 fill=") + fill + " seed=1";
  record.drift = std::move(drift);
  return record;
}

DriftRecord drift(double relative, std::optional<double> bound_ratio) {
  DriftRecord d;
  d.tensor = "h";
  d.elements = 4;
  d.relative_l2 = relative;
  d.max_bound_ratio = bound_ratio;
  return d;
}

std::pair<std::string, std::string> texts_of(const std::vector<Record>& records) {
  return drift_texts(summarise(records).devices.at(0).paths.at(0));
}
using Texts = std::pair<std::string, std::string>;

TEST(Drift, TheWorstResultOfTheRowCounts) {
  EXPECT_EQ(texts_of({with_drift("a", {drift(2.14e-7, 0.0443), drift(1e-8, 0.2)}),
                      with_drift("a", {drift(0, 0.1)})}),
            (Texts{"0.2", "2.1e-07"}));
  EXPECT_EQ(texts_of({with_drift("a", {})}), (Texts{"-", "-"}));
  EXPECT_EQ(texts_of({with_drift("a", {drift(0.25, std::nullopt)})}), (Texts{"-", "0.25"}));
  EXPECT_EQ(texts_of({with_drift("a", {drift(0.25, 1e-65)})}), (Texts{"<0.001", "0.25"}));
}

TEST(Drift, BoundsCountForEveryFillAndSizesForPlainOnes) {
  const Record wide = with_drift("a", {drift(0.3, 0.9)}, "wide"),
               normal = with_drift("a", {drift(1e-7, 0.1)});
  EXPECT_EQ(texts_of({wide, normal}), (Texts{"0.9", "1e-07"}));
  EXPECT_EQ(texts_of({normal, wide}), (Texts{"0.9", "1e-07"}));
  EXPECT_EQ(texts_of({wide}), (Texts{"0.9", "0.3"}));
}

TEST(Drift, NoiseAroundZeroHasNoRelativeErrorButALostResultHas) {
  EXPECT_EQ(texts_of({with_drift("a", {drift(6.8e8, 0.003), drift(1e-7, 0.1)})}), (Texts{"0.1", "1e-07"}));
  EXPECT_EQ(texts_of({with_drift("a", {drift(1, 5)})}), (Texts{"5", "1"}));
  EXPECT_EQ(texts_of({with_drift("a", {drift(1, std::nullopt)})}), (Texts{"-", "1"}));
  DriftRecord overflowed = drift(1e-7, 0.1);
  overflowed.nonfinite = 1;
  EXPECT_EQ(texts_of({with_drift("a", {overflowed})}), (Texts{"0.1", "inf"}));
  EXPECT_EQ(texts_of({with_drift("a", {drift(std::nan(""), 0.1), drift(1e-7, 0.1)})}).second, "nan");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Table, ShowsLocalAndEndToEndBesideEachOther) {
  const std::vector<Record> records = {with_drift("tiled_f32", {drift(2.14e-7, 0.0443)}),
                                       with_drift("other", {})};
  const auto lines = lines_of(to_table(summarise(records)));
  ASSERT_GE(lines.size(), 5u);
  // The titles of the groups stand over their first columns.
  EXPECT_EQ(lines[1].find("each op, on the device's own inputs"), lines[2].find("/bound"));
  EXPECT_EQ(lines[1].find("end to end"), lines[2].rfind("/bound"));
  EXPECT_NE(lines[3].find("0.0443"), std::string::npos) << lines[3];
  EXPECT_NE(lines[3].find("2.1e-07"), std::string::npos);
  EXPECT_EQ(lines[4].find("2.1e-07"), std::string::npos);
  EXPECT_NE(to_markdown(records).find("| 0.0443 | 2.1e-07 | 1 pass |"), std::string::npos)
      << to_markdown(records);
  EXPECT_NE(to_markdown(records).find("| - | - | 1 pass |"), std::string::npos);
}

TEST(Table, StaysNarrowWithTheLongestNames) {
  std::vector<Record> records = {with_drift("coopmat_bf16_f32", {drift(2.14e-77, 0.0443)})};
  records[0].stage = "softmax_cross_entropy";
  records[0].outputs[0].judgement.statistics.max_abs = 1.23e-300;
  records[0].outputs[0].judgement.statistics.mean_abs = 1.23e-300;
  records[0].outputs[0].judgement.statistics.cosine = 1 - 2e-16;
  records[0].order = {};
  for (const std::string& line : lines_of(to_table(summarise(records)))) EXPECT_LE(line.size(), 132u) << line;
}

}  // namespace
}  // namespace parity
