#include "reports/history/trend.hpp"

#include <gtest/gtest.h>

#include "reports/history/history_testing.hpp"

namespace parity {
namespace {

TEST(HistoryTrend, DrawsWhatChangedFirstAndMarksWhen) {
  std::vector<HistoryRun> runs;
  for (int run = 0; run < 4; ++run)
    runs.push_back({"vulkan:0", "vulkan", "A device", "driver", fmt::format("commit{}", run), "", "",
                    fmt::format("2026-01-0{}", run + 1)});
  Trend trend(runs, Statistic::rms_error, "");
  std::vector<HistoryChange> changes;
  for (int c = 0; c < 20; ++c) {
    HistorySeries series{fmt::format("gemm m={}", c), "tiled_f32", {}};
    for (std::size_t run = 0; run < 4; ++run) {
      HistoryPoint point;
      point.run = run;
      HistoryOutput output;
      output.result.tensor = "D";
      // Case 7 changed a little, for certain; the others vary.
      output.result.rms =
          c == 7 ? (run < 2 ? 1.0 : 1.2) : 1 + static_cast<double>(c * 10) * (run == 1 ? 1 : 0);
      point.outputs.push_back(output);
      series.points.push_back(point);
    }
    trend.add(series);
  }
  changes.push_back(
      {HistoryChange::Kind::errors, "gemm m=7", "tiled_f32", "D", 1, 2, "rms_error", "1", "1.2", "", 1.2});
  const std::string svg = trend.svg(changes);
  const auto holds = [&](const std::string& part) { return svg.find(part) != svg.npos; };
  EXPECT_TRUE(holds("12 of 20 results"));
  EXPECT_TRUE(holds("tiled_f32 gemm m=7 -&gt; D"));
  EXPECT_TRUE(holds("tiled_f32 gemm m=19 -&gt; D"));
  EXPECT_FALSE(holds("tiled_f32 gemm m=0 -&gt; D"));
  EXPECT_TRUE(holds("1: 2026-01-03: vulkan A device: commit commit1 -&gt; commit2")) << svg;
  EXPECT_TRUE(holds("class=\"plot-mark\""));
  EXPECT_LT(svg.find("gemm m=7 "), svg.find("gemm m=19 "));
}

}  // namespace
}  // namespace parity
