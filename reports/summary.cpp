#include "reports/summary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/order_text.hpp"

namespace parity {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The larger; a NaN counts as larger than everything, so that it is never hidden.
double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

PathSummary& row_of(DeviceSummary& device, const Record& record, Rows rows) {
  const std::string& stage = rows == Rows::per_case ? record.case_text : record.stage;
  for (PathSummary& row : device.paths)
    if (row.stage == stage && row.path == record.path) return row;
  PathSummary& row = device.paths.emplace_back();
  row.rung = record.rung;
  row.stage = stage;
  row.path = record.path;
  return row;
}

DeviceSummary& device_of(RunSummary& summary, const DeviceInfo& device) {
  for (DeviceSummary& known : summary.devices)
    if (known.device.id == device.id && known.device.name == device.name &&
        known.device.driver == device.driver)
      return known;
  return summary.devices.emplace_back(DeviceSummary{device, {}});
}

bool has_plain_fill(const Record& record) {
  return record.case_text.find(" fill=normal") != std::string::npos ||
         record.case_text.find(" fill=uniform") != std::string::npos;
}

/// The sizes of one record's errors join the row.
void add_sizes(PathSummary& row, const Record& record) {
  for (const OutputRecord& output : record.outputs) {
    const ErrorStatistics& statistics = output.judgement.statistics;
    if (statistics.elements == 0) continue;
    const auto elements = static_cast<double>(statistics.elements);
    const double total = static_cast<double>(row.elements) + elements;
    row.mean_abs += (statistics.mean_abs - row.mean_abs) * elements / total;
    row.elements += statistics.elements;
    row.max_abs = larger(row.max_abs, statistics.max_abs);
    // A result that is noise around zero (xsa at the first token) has no direction.
    if (statistics.relative_l2 > 0.5 && statistics.max_bound_ratio <= 1) continue;
    row.cosine = std::isnan(statistics.cosine) ? statistics.cosine : std::min(row.cosine, statistics.cosine);
  }
}

/// The sizes of one record's end-to-end errors join the row.
void add_drift_sizes(PathSummary& row, const Record& record) {
  for (const DriftRecord& drift : record.drift) {
    if (drift.elements == 0) continue;
    // A result that is noise around zero has no relative error; one that overflowed has no finite one.
    const bool noise = drift.relative_l2 > 0.5 && drift.max_bound_ratio.value_or(HUGE_VAL) <= 1;
    if (noise && drift.nonfinite == 0) continue;
    ++row.drift_results;
    row.drift_error = larger(row.drift_error, drift.nonfinite > 0 ? HUGE_VAL : drift.relative_l2);
  }
}

void add(PathSummary& row, const Record& record) {
  row.worst = row.cases == 0 ? record.verdict : worse(row.worst, record.verdict);
  ++row.cases;
  ++row.verdicts[record.verdict];
  row.sampled +=
      std::ranges::any_of(record.outputs, [](const OutputRecord& o) { return o.sampled.has_value(); });
  for (const OutputRecord& output : record.outputs) {
    row.max_bound_ratio = larger(row.max_bound_ratio, output.judgement.statistics.max_bound_ratio);
    row.replay_compared += output.judgement.replay.compared;
    row.replay_equal += output.judgement.replay.equal;
  }
  for (const DriftRecord& drift : record.drift)
    if (drift.max_bound_ratio)
      row.drift_bound_ratio = larger(row.drift_bound_ratio.value_or(0), *drift.max_bound_ratio);
  if (has_plain_fill(record) && !row.plain_fills) {
    row.plain_fills = true;
    row.elements = 0;
    row.max_abs = row.mean_abs = 0;
    row.cosine = 1;
    row.order_experiments = row.order_unequal = 0;
    row.drift_results = 0;
    row.drift_error = 0;
  }
  const DeviceSpread spread = device_spread(record.order);
  if (has_plain_fill(record) == row.plain_fills) {
    add_sizes(row, record);
    add_drift_sizes(row, record);
    row.order_experiments += spread.experiments;
    row.order_unequal += spread.unequal;
    // The predicted deviation knows nothing of flushed subnormals and the like: only plain fills are
    // compared.
    if (row.plain_fills) row.order_deviation = larger(row.order_deviation, spread.max_deviation);
  }
  // Bits that change from run to run are worth knowing whatever the fill.
  row.run_to_run_unequal += spread.run_to_run_unequal ? 1 : 0;
  row.device_seconds += median(record.device_seconds);
}

}  // namespace

bool is_empty_pass(const Record& record) {
  return record.verdict == Verdict::pass &&
         std::ranges::all_of(record.outputs, [](const OutputRecord& output) {
           return output.judgement.statistics.elements == 0;
         });
}

std::int64_t RunSummary::count(Verdict verdict) const {
  const auto found = verdicts.find(verdict);
  return found == verdicts.end() ? 0 : found->second;
}

std::int64_t RunSummary::failed() const {
  std::int64_t sum = 0;
  for (const auto& [verdict, count] : verdicts) sum += is_failure(verdict) ? count : 0;
  return sum;
}

std::int64_t RunSummary::judged() const {
  return records - count(Verdict::unsupported) - count(Verdict::untrusted) - empty;
}

std::string why_nothing_judged(const RunSummary& summary) {
  if (summary.empty == 0 || summary.judged() > 0) return "";
  return fmt::format(
      "no element was compared: the results of {} {} have none (a dimension is 0); run a case that has some "
      "beside them",
      summary.empty, summary.empty == 1 ? "case" : "cases");
}

RunSummary summarise(std::span<const Record> records, Rows rows) {
  RunSummary summary;
  struct Place {
    std::string reason, where;
    std::int64_t cases = 0;
  };
  std::vector<Place> places;
  for (const Record& record : records) {
    ++summary.records;
    summary.flaky += is_flaky(record) ? 1 : 0;
    ++summary.verdicts[record.verdict];
    summary.empty += is_empty_pass(record) ? 1 : 0;
    add(row_of(device_of(summary, record.device), record, rows), record);
    if (record.verdict != Verdict::unsupported) continue;
    const std::string where = fmt::format("{} {} {}", record.device.id, record.stage, record.path);
    const auto found = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.reason == record.reason && place.where == where;
    });
    ++(found == places.end() ? places.emplace_back(Place{record.reason, where, 0}) : *found).cases;
  }
  for (DeviceSummary& device : summary.devices)
    std::stable_sort(device.paths.begin(), device.paths.end(),
                     [](const PathSummary& a, const PathSummary& b) { return a.rung < b.rung; });
  for (const Place& place : places) {
    auto group = std::find_if(summary.unsupported.begin(), summary.unsupported.end(),
                              [&](const UnsupportedGroup& known) { return known.reason == place.reason; });
    if (group == summary.unsupported.end())
      group = summary.unsupported.insert(summary.unsupported.end(), UnsupportedGroup{place.reason, {}});
    group->where.push_back(
        fmt::format("{} ({} {})", place.where, place.cases, place.cases == 1 ? "case" : "cases"));
  }
  return summary;
}

std::string flaky_text(const RunSummary& summary) {
  if (summary.flaky == 0) return "";
  return fmt::format(" ({} of the failures flaky)", summary.flaky);
}

std::string verdict_counts(const std::map<Verdict, std::int64_t>& verdicts) {
  std::string text;
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::suspect, Verdict::drift,
                                Verdict::crash, Verdict::timeout, Verdict::untrusted, Verdict::unsupported}) {
    const auto found = verdicts.find(verdict);
    if (found == verdicts.end() || found->second == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", found->second, name_of(verdict));
  }
  return text.empty() ? "no records" : text;
}

std::string short_number(double value) {
  if (value == 0) return "0";
  return fmt::format("{:.3g}", value);
}

std::string brief_number(double value) {
  if (value == 0) return "0";
  return fmt::format("{:.2g}", value);
}

std::string bound_text(double ratio) {
  return ratio > 0 && ratio < 0.001 ? "<0.001" : short_number(ratio);
}

std::pair<std::string, std::string> drift_texts(const PathSummary& path) {
  return {path.drift_bound_ratio ? bound_text(*path.drift_bound_ratio) : "-",
          path.drift_results == 0 ? "-" : brief_number(path.drift_error)};
}

std::string cosine_text(double cosine) {
  if (!(cosine > 0.99)) return fmt::format("{:.4f}", cosine);
  const double gap = 1 - cosine;
  // Rounding may leave a cosine a hair above 1.
  return gap <= 0 ? "1" : fmt::format("1-{:.1e}", gap);
}

std::string order_text(const PathSummary& path) {
  // Runs whose bits differ say more than orders whose bits differ, which they then do too.
  const bool runs_differ = path.run_to_run_unequal > 0;
  if (path.order_experiments > 0 && path.order_unequal > 0 && path.order_deviation > 0)
    return brief_number(path.order_deviation) + (runs_differ ? " sigma (runs differ)" : " sigma");
  if (runs_differ) return "runs differ";
  if (path.order_experiments == 0) return "-";
  return path.order_unequal == 0 ? "same bits" : "bits differ";
}

std::string replay_text(std::int64_t equal, std::int64_t compared) {
  if (compared == 0) return "-";
  if (equal == compared) return "equal";
  // Never rounded up to 100 %.
  const double percent = std::floor(1e4 * static_cast<double>(equal) / static_cast<double>(compared)) / 100;
  return fmt::format("{:.2f}%", percent);
}

}  // namespace parity
