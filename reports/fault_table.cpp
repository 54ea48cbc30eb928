#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/fault_text.hpp"

namespace parity {

std::string fraction(const Rate& rate) {
  return fmt::format("{}/{}", rate.seen, rate.trials);
}

std::string percentage(const Rate& rate) {
  if (rate.trials == 0) return "-";
  const faults::BinomialInterval interval = rate.interval();
  return fmt::format("{:.3g}% ({:.3g} to {:.3g})", 100 * rate.value(), 100 * interval.low,
                     100 * interval.high);
}

std::string checks_text(const FaultRow& row) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < row.checks.size(); ++i)
    if (row.checks[i].seen > 0) names.push_back(faults::name_of(static_cast<faults::Check>(i)));
  return fmt::format("{}", fmt::join(names, " "));
}

std::string heading(const FaultRun& run) {
  return fmt::format("{} {}{}{}", run.device, run.name, run.order_withheld ? ", order withheld" : "",
                     run.held_out ? ", held-out sizes and seeds" : "");
}

std::string severity_text(const std::optional<double>& severity, const SeverityCurve& curve) {
  return severity ? fmt::format("{:.3g} {}", *severity, curve.entry->severity_unit) : "none of those tried";
}

std::string false_alarm_text(const FaultSummary& summary) {
  if (summary.healthy_cases == 0) return "not counted (--healthy N)";
  const std::string counted = fmt::format("{} of {} healthy cases stopped, {} tensors", summary.alarms,
                                          summary.healthy_cases, summary.healthy_tensors);
  if (summary.alarms > 0) return counted;
  return fmt::format("{}: below {:.3g}% of tensors, 95 times in 100", counted,
                     100 * faults::bound_after_none(summary.healthy_tensors));
}

namespace {

std::string fault_rows(const FaultSummary& summary) {
  std::size_t wide = 5;
  for (const FaultRow& row : summary.rows) wide = std::max(wide, row.entry->name.size());
  std::string text = fmt::format("  rung  {:{}}  caught   cos  nmse  assert  allcl  by\n", "fault", wide);
  for (const FaultRow& row : summary.rows) {
    if (row.state == FaultRow::State::absent) continue;
    std::string by = checks_text(row);
    if (row.state == FaultRow::State::missed) by = (by.empty() ? "MISSED" : by + "; MISSED");
    text +=
        fmt::format("  {:>4}  {:{}}  {:>7}", row.entry->rung, row.entry->name, wide, fraction(row.nominal));
    constexpr std::array<int, 4> widths = {4, 4, 6, 5};
    for (std::size_t i = 0; i < 4; ++i)
      text += fmt::format("  {:>{}}",
                          row.thresholds[i].seen == 0                         ? "no"
                          : row.thresholds[i].seen < row.thresholds[i].trials ? "part"
                                                                              : "yes",
                          widths[i]);
    text += fmt::format("  {}\n", by);
  }
  return text;
}

}  // namespace

std::string fault_table(const FaultSummary& summary) {
  std::string text = heading(*summary.run) + "\n" + fault_rows(summary) + "\n";
  const auto line = [&](std::string_view what, const Rate& rate) {
    text += fmt::format("  {:<44}  {:>11}  {}\n", what, fraction(rate), percentage(rate));
  };
  text += "  seen at nominal severity, in trials in which the fault acted (95% intervals)\n";
  line("the verdict", summary.nominal);
  for (std::size_t i = 0; i < summary.checks.size(); ++i) {
    const auto check = static_cast<faults::Check>(i);
    if (summary.checks[i].seen > 0)
      line(fmt::format("{}: {}", faults::name_of(check), faults::help_of(check)).substr(0, 44),
           summary.checks[i]);
  }
  for (std::size_t i = 0; i < 4; ++i) line(faults::threshold_names[i], summary.thresholds[i]);
  if (!summary.curves.empty()) {
    text += "\n  weakest severity caught 99 times in 100          by the verdict          by bounds alone\n";
    for (const SeverityCurve& curve : summary.curves)
      text += fmt::format("  {:<44}  {:<22}  {}\n", curve.name(), severity_text(curve.detectable, curve),
                          severity_text(curve.detectable_by_bounds, curve));
  }
  std::string absent, missed;
  int absences = 0;
  for (const FaultRow& row : summary.rows) {
    if (row.state == FaultRow::State::absent) {
      absent += fmt::format("    {}: {}\n", row.entry->name, row.why);
      ++absences;
    }
    if (row.state == FaultRow::State::missed)
      missed += fmt::format("    {}: {}{}\n", row.entry->name, row.explained ? "" : "UNEXPLAINED: ", row.why);
  }
  if (absences > 0) text += fmt::format("\n  not expressible here: {}\n{}", absences, absent);
  if (!missed.empty()) text += "\n  missed\n" + missed;
  text += fmt::format("\n  false alarms: {}\n", false_alarm_text(summary));
  if (summary.unhealthy > 0)
    text += fmt::format("  {} trials were not made: their healthy run does not pass\n", summary.unhealthy);
  text += fmt::format("  {} of {} faults caught{}\n", summary.faults.seen, summary.faults.trials,
                      summary.run->complete ? "" : "; the run was not completed");
  return text;
}

}  // namespace parity
