#include "reports/history/changes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/text.hpp"
#include "reports/summary.hpp"

namespace parity {
namespace {

using Kind = HistoryChange::Kind;

constexpr std::array<std::pair<Statistic, std::string_view>, 9> names{{
    {Statistic::verdict, "verdict"},
    {Statistic::bits, "bits"},
    {Statistic::rms_error, "rms_error"},
    {Statistic::mean_error, "mean_error"},
    {Statistic::max_error, "max_error"},
    {Statistic::max_err_over_bound, "max_err_over_bound"},
    {Statistic::relative_l2, "relative_l2"},
    {Statistic::max_ulp, "max_ulp"},
    {Statistic::seconds, "seconds"},
}};

/// Whether a record has results that can be compared.
bool judged(const HistoryPoint& point) {
  return !point.outputs.empty() && (point.verdict == Verdict::pass || is_failure(point.verdict));
}

/// Results of one key, in the order of the record: a case of several steps judges one call more than once.
using PlacedKey = std::pair<ResultKey, int>;

std::vector<std::pair<PlacedKey, const HistoryOutput*>> keyed(const HistoryPoint& point) {
  std::map<ResultKey, int> met;
  std::vector<std::pair<PlacedKey, const HistoryOutput*>> all;
  for (const HistoryOutput& output : point.outputs) {
    ResultKey key = result_key(output.result);
    const int place = met[key]++;
    all.push_back({{std::move(key), place}, &output});
  }
  return all;
}

double factor(double a, double b) {
  const double low = std::min(std::fabs(a), std::fabs(b)), high = std::max(std::fabs(a), std::fabs(b));
  return low == high ? 1 : low > 0 ? high / low : HUGE_VAL;
}

}  // namespace

std::string_view name_of(Statistic statistic) {
  for (const auto& [value, name] : names)
    if (value == statistic) return name;
  return "?";
}

std::optional<Statistic> parse_statistic(std::string_view text) {
  for (const auto& [value, name] : names)
    if (name == text) return value;
  return std::nullopt;
}

std::vector<std::string> statistic_names() {
  std::vector<std::string> all;
  for (const auto& [value, name] : names) all.emplace_back(name);
  return all;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::verdict:
      return "verdict";
    case Kind::inputs:
      return "inputs";
    case Kind::bits:
      return "bits";
    case Kind::errors:
      return "errors";
    case Kind::time:
      return "time";
  }
  return "?";
}

bool fits_output(const HistoryOutput& output, const std::string& pattern) {
  return pattern.empty() || fits_pattern(output.result.tensor, pattern) ||
         fits_pattern(output.result.port, pattern);
}

double value_of(Statistic statistic, const HistoryPoint& point, const HistoryOutput* output) {
  const double none = std::nan("");
  switch (statistic) {
    case Statistic::verdict:
      return is_failure(point.verdict) ? 1 : 0;
    case Statistic::seconds:
      return point.seconds > 0 ? point.seconds : none;
    case Statistic::rms_error:
      return output ? output->result.rms : none;
    case Statistic::mean_error:
      return output ? output->result.mean_signed : none;
    case Statistic::max_error:
      return output ? output->max_abs : none;
    case Statistic::max_err_over_bound:
      return output ? output->result.max_bound_ratio : none;
    case Statistic::relative_l2:
      return output ? output->relative_l2 : none;
    case Statistic::max_ulp:
      return output ? output->max_ulp : none;
    case Statistic::bits:
      return none;
  }
  return none;
}

bool ChangeFinder::asked(Kind kind) const {
  const auto statistic = options_.statistic;
  switch (kind) {
    case Kind::verdict:
      return options_.output.empty() && (!statistic || *statistic == Statistic::verdict);
    case Kind::bits:
      return !statistic || *statistic == Statistic::bits;
    case Kind::time:
      return statistic && *statistic == Statistic::seconds;
    case Kind::errors:
      return !statistic || (*statistic != Statistic::verdict && *statistic != Statistic::bits &&
                            *statistic != Statistic::seconds);
    case Kind::inputs:
      return asked(Kind::bits) || asked(Kind::errors);
  }
  return false;
}

void ChangeFinder::add(const HistorySeries& series) {
  if (series.points.empty()) return;
  ++series_;
  if (std::ranges::any_of(series.points, [&](const HistoryPoint& point) {
        return std::ranges::any_of(point.outputs,
                                   [&](const HistoryOutput& o) { return fits_output(o, options_.output); });
      }))
    ++with_output_;
  if (asked(Kind::verdict))
    for (std::size_t i = 1; i < series.points.size(); ++i) {
      const HistoryPoint &was = series.points[i - 1], &is = series.points[i];
      if (was.verdict == is.verdict) continue;
      changes_.push_back({Kind::verdict, series.case_text, series.path, "", was.run, is.run, "verdict",
                          std::string(name_of(was.verdict)), std::string(name_of(is.verdict)),
                          is.reason.empty() ? "was: " + was.reason : is.reason, HUGE_VAL});
    }
  if (asked(Kind::inputs)) compare_outputs(series);
  if (asked(Kind::time)) note_times(series);
}

void ChangeFinder::compare_outputs(const HistorySeries& series) {
  /// A result as it was when its present stretch began, and in the run before.
  struct Past {
    const HistoryPoint *begun = nullptr, *last = nullptr;
    const HistoryOutput *output = nullptr, *last_output = nullptr;
  };
  std::map<PlacedKey, Past> past;
  const HistoryPoint* previous = nullptr;
  const Statistic statistic = options_.statistic.value_or(Statistic::rms_error);
  for (const HistoryPoint& point : series.points) {
    if (!judged(point)) continue;
    const auto add = [&](Kind kind, const Past& from, const HistoryOutput& to, std::string_view figure,
                         std::string was, std::string is, std::string why, double size) {
      changes_.push_back({kind, series.case_text, series.path, to.result.tensor, from.last->run, point.run,
                          std::string(figure), std::move(was), std::move(is), std::move(why), size});
    };
    if (previous && previous->inputs != point.inputs) {
      changes_.push_back(
          {Kind::inputs, series.case_text, series.path, "", previous->run, point.run, "inputs", "others",
           "these", "the case's inputs are others: what follows cannot be compared with what was", HUGE_VAL});
      past.clear();
    }
    previous = &point;
    for (const auto& [key, output] : keyed(point)) {
      if (!fits_output(*output, options_.output)) continue;
      Past& from = past[key];
      const std::uint64_t bits = output->result.bits;
      const bool same_bits = from.last_output && bits != 0 && from.last_output->result.bits == bits;
      if (from.last_output && bits != 0 && from.last_output->result.bits != 0 && !same_bits &&
          from.last->reproducible && point.reproducible && asked(Kind::bits)) {
        add(Kind::bits, from, *output, "bits", fmt::format("{:#x}", from.last_output->result.bits),
            fmt::format("{:#x}", bits), "other bits of the same inputs, where repeated runs had the same",
            HUGE_VAL);
      }
      // The same bits have the same errors.
      if (from.output && !same_bits && asked(Kind::errors)) {
        DriftLimits limits = options_.limits;
        limits.bits_vary = !(from.last->reproducible && point.reproducible);
        const auto moved = find_drift(from.output->result, output->result, limits);
        bool told = false;
        for (const MovedStatistic& m : moved) {
          const bool of_mean = m.statistic == "mean error";
          // A result that was exact and no longer is has moved in every figure.
          const bool exact = from.output->result.rms == 0 || output->result.rms == 0;
          if (statistic == Statistic::mean_error && !of_mean && !exact) continue;
          const Statistic of = of_mean && !options_.statistic ? Statistic::mean_error : statistic;
          const double was = value_of(of, *from.begun, from.output), is = value_of(of, point, output);
          add(Kind::errors, from, *output, name_of(of), brief_number(was), brief_number(is), m.text,
              factor(was, is));
          told = true;
          if (options_.statistic) break;  // both are about the one figure that was asked for
        }
        if (told) from.output = nullptr;
      }
      if (!from.output) {
        from.begun = &point;
        from.output = output;
      }
      from.last = &point;
      from.last_output = output;
    }
  }
}

void ChangeFinder::note_times(const HistorySeries& series) {
  const HistoryRun& first = runs_[series.points.front().run];
  auto& runs = times_[{first.backend, first.device, series.path}];
  for (const HistoryPoint& point : series.points)
    if (point.time_ratio > 0) {
      // Of several records of a run the quickest: what slows a run down has many causes.
      double& kept = runs[point.run].try_emplace(series.case_text, point.time_ratio).first->second;
      kept = std::min(kept, point.time_ratio);
    }
}

void ChangeFinder::compare_times(std::vector<HistoryChange>& changes) const {
  for (const auto& [key, runs] : times_) {
    auto begun = runs.begin(), last = begun;
    for (auto run = runs.begin(); run != runs.end(); last = run++) {
      std::vector<double> ratios;
      for (const auto& [case_text, ratio] : run->second) {
        const auto was = begun->second.find(case_text);
        if (was != begun->second.end()) ratios.push_back(ratio / was->second);
      }
      if (ratios.empty()) {
        begun = run;
        continue;
      }
      const double times = median_of(ratios);
      if (factor(times, 1) < options_.slower) continue;
      changes.push_back({Kind::time, "", key[2], "", last->first, run->first, "time", "1",
                         fmt::format("{:.2f}", times),
                         fmt::format("times what it took, the median of {} cases, each against the "
                                     "reference of the same minute",
                                     ratios.size()),
                         factor(times, 1)});
      begun = run;
    }
  }
}

std::vector<HistoryChange> ChangeFinder::changes() {
  std::vector<HistoryChange> all = changes_;
  compare_times(all);
  std::ranges::stable_sort(all, [](const HistoryChange& a, const HistoryChange& b) {
    return std::tuple(a.after, a.kind, -a.size) < std::tuple(b.after, b.kind, -b.size);
  });
  return all;
}

}  // namespace parity
