#include "reports/csv.hpp"

#include <gtest/gtest.h>

#include "reports/record_sample.hpp"

namespace parity {
namespace {

/// Cells of the lines, read back by the rules of RFC 4180.
std::vector<std::vector<std::string>> cells_of_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& cell = lines.back().back();
    if (quoted && text[i] == '"' && text[i + 1] == '"')
      cell += text[i++];
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && text[i] == ',')
      lines.back().emplace_back();
    else if (!quoted && text[i] == '\r' && text[i + 1] == '\n')
      ++i, lines.push_back({""});
    else
      cell += text[i];
  }
  lines.pop_back();
  return lines;
}

TEST(Csv, HasALineForEachOutputAndOneForNone) {
  Record two = sample_record();
  two.outputs.push_back(two.outputs[0]);
  two.outputs[1].tensor = "E";
  two.reason = "=cmd(), \"quoted\"\nand on";
  Record none = sample_record(Verdict::unsupported);
  none.outputs.clear();
  const std::vector<Record> records{two, none};
  const auto lines = cells_of_csv(to_csv(records));
  ASSERT_EQ(lines.size(), 4U);
  const auto cell = [&](std::size_t line, std::string_view name) {
    const auto found = std::find(lines[0].begin(), lines[0].end(), name);
    return found == lines[0].end() ? "no such column"
                                   : lines[line].at(static_cast<std::size_t>(found - lines[0].begin()));
  };
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines[0].size());
  EXPECT_EQ(cell(1, "case"), two.case_text);
  EXPECT_EQ(cell(1, "reason"), "'=cmd(), \"quoted\"\nand on");
  EXPECT_EQ(cell(2, "tensor"), "E");
  EXPECT_EQ(cell(1, "device_seconds"), "0.25");
  EXPECT_EQ(cell(1, "max_abs"), "inf");
  EXPECT_EQ(cell(1, "max_bound_ratio"), "1e+30");
  EXPECT_EQ(cell(1, "replay_equal"), "4");
  EXPECT_EQ(cell(1, "where"), "column 2");
  EXPECT_EQ(cell(3, "verdict"), "unsupported");
  EXPECT_EQ(cell(3, "elements"), "");
}

}  // namespace
}  // namespace parity
