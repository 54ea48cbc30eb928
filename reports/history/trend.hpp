#pragma once
#include <span>
#include <string>
#include <vector>

#include "reports/history/changes.hpp"

namespace parity {

/// Gathers the figures of series for a plot: the statistic over the runs.
class Trend {
 public:
  /// `output`: pattern for tensor or port; empty: all.
  Trend(std::span<const HistoryRun> runs, Statistic statistic, std::string output)
      : runs_(runs), statistic_(statistic), output_(std::move(output)) {}
  void add(const HistorySeries& series);
  /// At most twelve lines, those that changed first, then those that vary most; the changes of their figure
  /// are marks.
  std::string svg(std::span<const HistoryChange> changes) const;

 private:
  struct Line {
    std::string case_text, path, tensor, device;
    std::vector<std::size_t> runs;
    std::vector<double> values;
  };

  std::span<const HistoryRun> runs_;
  Statistic statistic_;
  std::string output_;
  std::vector<Line> lines_;
};

}  // namespace parity
