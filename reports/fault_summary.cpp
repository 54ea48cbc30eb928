#include "reports/fault_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace parity {

namespace {

using faults::Check;
using faults::Outcome;
using faults::TrialResult;

void count(Rate& rate, bool seen) {
  ++rate.trials;
  rate.seen += seen;
}

/// Whether bounds or aggregates alone, without the bits of a known order, would have stopped it.
bool stopped_by_bounds(const TrialResult& trial) {
  for (std::size_t i = 0; i < trial.findings.size(); ++i)
    if (trial.findings[i] && static_cast<Check>(i) != Check::replay) return true;
  return false;
}

bool acted(const TrialResult& trial) {
  return trial.outcome == Outcome::caught || trial.outcome == Outcome::missed;
}

FaultRow row_of(const FaultEntry& entry, std::span<const TrialResult* const> trials) {
  FaultRow row;
  row.entry = &entry;
  std::string unsupported, miss;
  for (const TrialResult* trial : trials) {
    if (!trial->nominal) continue;
    if (std::ranges::find(row.paths, trial->path) == row.paths.end()) row.paths.push_back(trial->path);
    if (trial->outcome == Outcome::idle) ++row.idle;
    if (trial->outcome == Outcome::unsupported) unsupported = trial->reason;
    if (!acted(*trial)) continue;
    count(row.nominal, trial->outcome == Outcome::caught);
    for (std::size_t i = 0; i < row.checks.size(); ++i) count(row.checks[i], trial->findings[i]);
    for (std::size_t i = 0; i < row.thresholds.size(); ++i) count(row.thresholds[i], trial->thresholds[i]);
    if (trial->outcome == Outcome::missed && miss.empty())
      miss = fmt::format("within every check: {} on {}, worst error {:.3g} of its expected spread",
                         trial->case_text, trial->path, trial->error);
  }
  if (!entry.absent.empty()) {
    row.why = entry.absent;
  } else if (row.nominal.trials > 0) {
    row.state = row.nominal.seen == row.nominal.trials ? FaultRow::State::caught : FaultRow::State::missed;
    row.why = row.state == FaultRow::State::missed ? miss : "";
  } else if (row.idle > 0) {
    row.state = FaultRow::State::missed;
    row.why = "it acts in none of its cases: every bit is the healthy kernel's";
  } else {
    row.why = unsupported.empty() ? "nothing was tried" : unsupported;
  }
  if (row.state == FaultRow::State::missed) {
    row.explained = !entry.known_miss.empty();
    if (row.explained) row.why = entry.known_miss;
  }
  return row;
}

/// The weakest severity such that it and every stronger one have a rate of at least 99%.
template <class RateOf>
std::optional<double> weakest(const std::vector<SeverityCurve::Point>& points, const RateOf& rate_of) {
  std::optional<double> found;
  for (const SeverityCurve::Point& point : points) {
    const Rate& rate = rate_of(point);
    if (rate.trials == 0 || rate.value() < 0.99) break;
    found = point.severity;
  }
  return found;
}

/// The format of a case's results, by its text.
std::string format_of_results(const std::string& case_text) {
  const std::size_t at = case_text.find(" out=");
  if (at == case_text.npos) return {};
  return case_text.substr(at + 5, case_text.find(' ', at + 5) - at - 5);
}

std::optional<SeverityCurve> curve_of(const FaultEntry& entry, const std::string& format,
                                      std::span<const TrialResult* const> trials) {
  SeverityCurve curve;
  curve.entry = &entry;
  curve.format = format;
  for (const TrialResult* trial : trials) {
    if (format_of_results(trial->case_text) != format) continue;
    auto point = std::ranges::find(curve.points, trial->severity, &SeverityCurve::Point::severity);
    if (point == curve.points.end()) {
      curve.points.push_back({});
      point = std::prev(curve.points.end());
      point->severity = trial->severity;
    }
    point->idle += trial->outcome == Outcome::idle;
    if (!acted(*trial)) continue;
    count(point->caught, trial->outcome == Outcome::caught);
    count(point->bounds, stopped_by_bounds(*trial));
    for (std::size_t i = 0; i < 4; ++i) count(point->thresholds[i], trial->thresholds[i]);
  }
  if (entry.severity_unit.empty() || curve.points.size() < 2) return std::nullopt;
  // The plan names the nominal severity where it stands: strongest first.
  const bool falling = curve.points.front().severity > curve.points.back().severity;
  std::ranges::sort(curve.points, [&](const auto& a, const auto& b) {
    return falling ? a.severity > b.severity : a.severity < b.severity;
  });
  curve.detectable = weakest(curve.points, [](const auto& p) -> const Rate& { return p.caught; });
  curve.detectable_by_bounds = weakest(curve.points, [](const auto& p) -> const Rate& { return p.bounds; });
  return curve;
}

}  // namespace

bool FaultSummary::satisfied() const {
  return faults.trials > 0 && faults.value() >= 0.99 && unexplained == 0 && unhealthy == 0 && alarms == 0;
}

FaultSummary summarise(const FaultRun& run) {
  FaultSummary summary;
  summary.run = &run;
  std::map<std::string, std::vector<const TrialResult*>> by_fault;
  for (const TrialResult& trial : run.trials) {
    by_fault[trial.fault].push_back(&trial);
    summary.unhealthy += trial.outcome == Outcome::unhealthy;
    if (!trial.nominal || !acted(trial)) continue;
    count(summary.nominal, trial.outcome == Outcome::caught);
    for (std::size_t i = 0; i < summary.checks.size(); ++i) count(summary.checks[i], trial.findings[i]);
    for (std::size_t i = 0; i < 4; ++i) count(summary.thresholds[i], trial.thresholds[i]);
  }
  for (const FaultEntry& entry : run.entries) {
    const auto& trials = by_fault[entry.name];
    summary.rows.push_back(row_of(entry, trials));
    const FaultRow& row = summary.rows.back();
    if (row.state != FaultRow::State::absent) count(summary.faults, row.state == FaultRow::State::caught);
    summary.unexplained += row.state == FaultRow::State::missed && !row.explained;
    std::set<std::string> formats;
    for (const TrialResult* trial : trials) formats.insert(format_of_results(trial->case_text));
    for (const std::string& format : formats)
      if (auto curve = curve_of(entry, format, trials)) summary.curves.push_back(*std::move(curve));
  }
  std::ranges::stable_sort(summary.rows, {}, [](const FaultRow& row) { return row.entry->rung; });
  for (const HealthyEntry& entry : run.healthy) {
    ++summary.healthy_cases;
    summary.healthy_tensors += entry.tensors;
    summary.alarms += is_failure(entry.verdict);
    for (std::size_t i = 0; i < entry.findings.size(); ++i) summary.healthy_checks[i] += entry.findings[i];
    for (std::size_t i = 0; i < 4; ++i) summary.healthy_thresholds[i] += entry.thresholds[i];
  }
  return summary;
}

}  // namespace parity
