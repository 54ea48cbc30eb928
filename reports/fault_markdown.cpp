#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "reports/fault_picture.hpp"
#include "reports/fault_text.hpp"
#include "reports/markdown_text.hpp"

namespace parity {

namespace {

using Summaries = std::span<const FaultSummary>;

/// A row of a table: what it is about, then a cell a run.
std::string table_row(const std::string& head, const std::vector<std::string>& cells) {
  return fmt::format("| {} | {} |\n", head, fmt::join(cells, " | "));
}

template <class Cell>
std::string row_over(Summaries summaries, const std::string& head, const Cell& cell) {
  std::vector<std::string> cells;
  for (const FaultSummary& summary : summaries) cells.push_back(cell(summary));
  return table_row(head, cells);
}

std::string table_head(Summaries summaries, const std::string& first) {
  std::string text = row_over(
      summaries, first, [](const FaultSummary& summary) { return markdown_text(heading(*summary.run)); });
  text += "|---|";
  for (std::size_t i = 0; i < summaries.size(); ++i) text += "--:|";
  return text + "\n";
}

std::string rates(Summaries summaries) {
  std::string text = table_head(summaries, "seen, of trials at nominal severity");
  const auto add = [&](const std::string& head, const auto& rate_of) {
    text += row_over(summaries, head, [&](const FaultSummary& s) { return percentage(rate_of(s)); });
  };
  text += row_over(summaries, "faults caught", [](const FaultSummary& s) { return fraction(s.faults); });
  text += row_over(summaries, "trials",
                   [](const FaultSummary& s) { return fmt::format("{}", s.nominal.trials); });
  add("**the verdict**", [](const FaultSummary& s) -> const Rate& { return s.nominal; });
  for (std::size_t i = 0; i < faults::check_count; ++i) {
    const auto check = static_cast<faults::Check>(i);
    if (std::ranges::none_of(summaries, [&](const FaultSummary& s) { return s.checks[i].seen > 0; }))
      continue;
    add(fmt::format("{}: {}", markdown_text(faults::name_of(check)), faults::help_of(check)),
        [i](const FaultSummary& s) -> const Rate& { return s.checks[i]; });
  }
  for (std::size_t i = 0; i < 4; ++i)
    add(fmt::format("*{}*", markdown_text(faults::threshold_names[i])),
        [i](const FaultSummary& s) -> const Rate& { return s.thresholds[i]; });
  return text;
}

std::string false_alarms(Summaries summaries) {
  std::string text = table_head(summaries, "healthy cases");
  const auto number = [&](const std::string& head, const auto& count_of) {
    text += row_over(summaries, head, [&](const FaultSummary& s) { return fmt::format("{}", count_of(s)); });
  };
  number("cases", [](const FaultSummary& s) { return s.healthy_cases; });
  number("tensors judged", [](const FaultSummary& s) { return s.healthy_tensors; });
  number("stopped by the verdict", [](const FaultSummary& s) { return s.alarms; });
  text += row_over(summaries, "rate of false alarms, 95 times in 100 below", [](const FaultSummary& s) {
    return s.alarms > 0 || s.healthy_tensors == 0
               ? "-"
               : fmt::format("{:.2g}%", 100 * faults::bound_after_none(s.healthy_tensors));
  });
  for (std::size_t i = 0; i < 4; ++i)
    number(fmt::format("stopped by *{}*", markdown_text(faults::threshold_names[i])),
           [i](const FaultSummary& s) { return s.healthy_thresholds[i]; });
  return text;
}

std::string severities(Summaries summaries) {
  std::map<std::string, const FaultEntry*> entries;
  for (const FaultSummary& summary : summaries)
    for (const SeverityCurve& curve : summary.curves) entries.emplace(curve.name(), curve.entry);
  if (entries.empty()) return {};
  std::string text = table_head(summaries, "fault (unit of its severity)");
  for (const auto& known : entries)
    text += row_over(
        summaries, fmt::format("{} ({})", known.first, known.second->severity_unit),
        [&](const FaultSummary& s) {
          const auto curve =
              std::ranges::find_if(s.curves, [&](const SeverityCurve& c) { return c.name() == known.first; });
          if (curve == s.curves.end()) return std::string("-");
          const auto number = [](const std::optional<double>& v) {
            return v ? fmt::format("{:.3g}", *v) : "none";
          };
          return fmt::format("{}, {}", number(curve->detectable), number(curve->detectable_by_bounds));
        });
  return text;
}

const FaultRow* row_named(const FaultSummary& summary, const std::string& name) {
  const auto found =
      std::ranges::find_if(summary.rows, [&](const FaultRow& row) { return row.entry->name == name; });
  return found == summary.rows.end() ? nullptr : &*found;
}

/// What a threshold did over all runs.
std::string threshold_cell(Summaries summaries, const std::string& name, std::size_t i) {
  Rate rate;
  for (const FaultSummary& summary : summaries)
    if (const FaultRow* row = row_named(summary, name)) {
      rate.seen += row->thresholds[i].seen;
      rate.trials += row->thresholds[i].trials;
    }
  if (rate.trials == 0) return "-";
  return rate.seen == 0             ? "passes"
         : rate.seen == rate.trials ? "stops"
                                    : fmt::format("{:.0f}%", 100 * rate.value());
}

std::string every_fault(Summaries summaries) {
  std::string text = "| rung | fault | what | ";
  for (const FaultSummary& summary : summaries) text += markdown_text(summary.run->name) + " | ";
  text += "seen by | cos | NMSE | assert\\_close | allclose |\n|--:|---|---|";
  for (std::size_t i = 0; i < summaries.size() + 5; ++i) text += "---|";
  text += "\n";
  for (const FaultRow& first : summaries.front().rows) {
    const std::string& name = first.entry->name;
    text += fmt::format("| {} | {} | {} | ", first.entry->rung, name, markdown_text(first.entry->what));
    std::array<bool, faults::check_count> seen{};
    for (const FaultSummary& summary : summaries) {
      const FaultRow* row = row_named(summary, name);
      if (row == nullptr || row->state == FaultRow::State::absent) {
        text += "- | ";
        continue;
      }
      text += fmt::format("{}{} | ", row->state == FaultRow::State::missed ? "**missed** " : "",
                          fraction(row->nominal));
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = seen[i] || row->checks[i].seen > 0;
    }
    std::vector<std::string> by;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i]) by.push_back(markdown_text(faults::name_of(static_cast<faults::Check>(i))));
    text += fmt::format("{} |", fmt::join(by, ", "));
    for (std::size_t i = 0; i < 4; ++i) text += fmt::format(" {} |", threshold_cell(summaries, name, i));
    text += "\n";
  }
  return text;
}

/// Faults of one state, grouped by the reason given.
std::string reasons(const FaultSummary& summary, FaultRow::State state) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const FaultRow& row : summary.rows)
    if (row.state == state) by_reason[row.why].push_back(row.entry->name);
  std::string text;
  for (const auto& [why, names] : by_reason)
    text += fmt::format("- {}: {}\n", markdown_text(why), fmt::join(names, ", "));
  return text;
}

}  // namespace

std::string fault_markdown(Summaries summaries, bool pictures) {
  if (summaries.empty()) return "# Planted faults\n\nNo run.\n";
  std::string text = "# Planted faults\n\n## Rates\n\n" + rates(summaries) + "\n## False alarms\n\n" +
                     false_alarms(summaries);
  if (const std::string table = severities(summaries); !table.empty())
    text +=
        "\n## The weakest severity caught at least 99 times in 100\n\nBy the verdict, and by bounds and "
        "aggregates "
        "alone, without the bits of a known order.\n\n" +
        table;
  if (pictures)
    for (const FaultPicture& picture : fault_pictures(summaries))
      text += fmt::format("\n![{}]({})\n", markdown_text(picture.title), picture.file);
  text += "\n## Every fault\n\n" + every_fault(summaries);
  for (const auto& [title, state] : {std::pair{"Missed", FaultRow::State::missed},
                                     std::pair{"Not expressible or not planted", FaultRow::State::absent}}) {
    text += fmt::format("\n## {}\n", title);
    for (const FaultSummary& summary : summaries) {
      const std::string list = reasons(summary, state);
      text +=
          fmt::format("\n{}:\n\n{}", markdown_text(heading(*summary.run)), list.empty() ? "- none\n" : list);
    }
  }
  return text;
}

}  // namespace parity
