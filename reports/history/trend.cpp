#include "reports/history/trend.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/history/history_text.hpp"
#include "reports/plot.hpp"

namespace parity {
namespace {

constexpr std::size_t most_lines = 12, most_marks = 12;

bool is_logarithmic(Statistic statistic) {
  switch (statistic) {
    case Statistic::rms_error:
    case Statistic::max_error:
    case Statistic::relative_l2:
    case Statistic::max_ulp:
    case Statistic::seconds:
      return true;
    default:
      return false;
  }
}

std::string axis_label(Statistic statistic) {
  if (statistic == Statistic::bits) return "bits: which of those seen";
  if (statistic == Statistic::verdict) return "1: failed";
  return std::string(name_of(statistic));
}

/// How far apart a line's values are, as a share of the largest.
double variation(const std::vector<double>& values) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : values)
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  const double size = std::max(std::fabs(low), std::fabs(high));
  return low > high || size == 0 ? 0 : (high - low) / size;
}

}  // namespace

void Trend::add(const HistorySeries& series) {
  const bool of_case = statistic_ == Statistic::verdict || statistic_ == Statistic::seconds;
  const HistoryRun& first = runs_[series.points.front().run];
  std::map<std::pair<std::string, int>, Line> lines;
  std::map<std::pair<std::string, int>, std::vector<std::uint64_t>> seen;
  for (const HistoryPoint& point : series.points) {
    std::map<std::string, int> met;
    const auto put = [&](const std::string& tensor, double value) {
      Line& line = lines[{tensor, met[tensor]++}];
      line.runs.push_back(point.run);
      line.values.push_back(value);
    };
    if (of_case) put("", value_of(statistic_, point, nullptr));
    for (const HistoryOutput& output : point.outputs) {
      if (of_case || !fits_output(output, output_)) continue;
      const std::string& tensor = output.result.tensor;
      if (statistic_ != Statistic::bits) {
        put(tensor, value_of(statistic_, point, &output));
        continue;
      }
      auto& all = seen[{tensor, met[tensor]}];
      const auto known = std::ranges::find(all, output.result.bits);
      put(tensor, static_cast<double>(known - all.begin() + 1));
      if (known == all.end()) all.push_back(output.result.bits);
    }
  }
  for (auto& [key, line] : lines) {
    line.case_text = series.case_text;
    line.path = series.path;
    line.tensor = key.first;
    line.device = fmt::format("{} {}", first.backend, first.device);
    lines_.push_back(std::move(line));
  }
}

std::string Trend::svg(std::span<const HistoryChange> changes) const {
  const auto changed = [&](const Line& line) {
    return std::ranges::count_if(changes, [&](const HistoryChange& c) {
      const HistoryRun& run = runs_[c.after];
      return c.path == line.path && (c.case_text.empty() || c.case_text == line.case_text) &&
             (c.tensor.empty() || c.tensor == line.tensor) &&
             line.device == fmt::format("{} {}", run.backend, run.device);
    });
  };
  std::vector<std::tuple<bool, double, const Line*>> ranked;
  for (const Line& line : lines_) ranked.emplace_back(changed(line) == 0, -variation(line.values), &line);
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  if (ranked.size() > most_lines) ranked.resize(most_lines);

  std::set<std::size_t> shown;
  std::set<std::string> devices;
  for (const auto& [still, vary, line] : ranked) {
    shown.insert(line->runs.begin(), line->runs.end());
    devices.insert(line->device);
  }
  // Runs of what is drawn, from 1: their dates lie too unevenly for an axis.
  const auto number_of = [&](std::size_t run) {
    return static_cast<double>(std::distance(shown.begin(), shown.lower_bound(run)) + 1);
  };
  Plot plot;
  plot.title = fmt::format("History: {}", name_of(statistic_));
  if (ranked.size() < lines_.size())
    plot.subtitle = fmt::format("{} of {} results: those that changed, then those that vary most",
                                ranked.size(), lines_.size());
  if (devices.size() == 1) plot.subtitle = fmt::format("{}. {}", *devices.begin(), plot.subtitle);
  plot.x_label = "run";
  plot.whole_x = true;
  if (!shown.empty()) {
    const HistoryRun &first = runs_[*shown.begin()], &last = runs_[*shown.rbegin()];
    plot.x_label = fmt::format("run, from {} (commit {}) to {} (commit {})", first.started, first.commit,
                               last.started, last.commit);
  }
  PlotPanel panel{axis_label(statistic_), is_logarithmic(statistic_), 320, {}};
  std::set<std::string> labels;
  for (const auto& [still, vary, line] : ranked) {
    std::string label = fmt::format("{} {}", line->path, line->case_text);
    if (!line->tensor.empty()) label += " -> " + line->tensor;
    if (devices.size() > 1) label += " on " + line->device;
    PlotLine drawn;
    drawn.label = label;
    for (int again = 2; !labels.insert(drawn.label).second; ++again)
      drawn.label = fmt::format("{} ({})", label, again);
    drawn.y = line->values;
    for (const std::size_t run : line->runs) drawn.x.push_back(number_of(run));
    panel.lines.push_back(std::move(drawn));
  }
  plot.panels = {std::move(panel)};
  std::set<std::string> told;
  for (const HistoryChange& change : changes) {
    if (!shown.contains(change.after) || plot.marks.size() == most_marks) continue;
    std::string text = moment_text(runs_[change.before], runs_[change.after]);
    if (told.insert(text).second) plot.marks.push_back({number_of(change.after) - 0.5, std::move(text)});
  }
  return to_svg(plot);
}

}  // namespace parity
