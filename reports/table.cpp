#include "reports/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace parity {
namespace {

constexpr std::size_t columns = 12;
using Cells = std::array<std::string, columns>;

const Cells heading = {"rung",    "path",   "cases", "/bound", "max err", "mean err",
                       "cos_sim", "replay", "order", "/bound", "rel err", "verdict"};
/// What stands over the columns from which on: how the calls are judged, and the whole case.
struct ColumnGroup {
  std::size_t first;
  const char* title;
};
constexpr std::array groups = {ColumnGroup{3, "each op, on the device's own inputs"},
                               ColumnGroup{9, "end to end"}};

std::string colour_of(Verdict verdict) {
  if (is_failure(verdict)) return "\033[1;31m";
  return verdict == Verdict::pass ? "\033[32m" : "\033[33m";
}

Cells cells_of(const PathSummary& path) {
  const bool one_kind = path.verdicts.size() == 1;
  const std::string verdict = one_kind ? std::string(name_of(path.worst)) : verdict_counts(path.verdicts);
  Cells cells;
  cells.fill("-");
  cells[0] = path.stage;
  cells[1] = path.path;
  cells[2] = std::to_string(path.cases);
  cells[11] = path.sampled == 0            ? verdict
              : path.sampled == path.cases ? verdict + " (sampled)"
                                           : fmt::format("{} ({} sampled)", verdict, path.sampled);
  if (path.elements == 0) return cells;  // nothing was compared
  cells[3] = bound_text(path.max_bound_ratio);
  cells[4] = brief_number(path.max_abs);
  cells[5] = brief_number(path.mean_abs);
  cells[6] = cosine_text(path.cosine);
  cells[7] = replay_text(path.replay_equal, path.replay_compared);
  cells[8] = order_text(path);
  std::tie(cells[9], cells[10]) = drift_texts(path);
  return cells;
}

/// Texts to the left, figures to the right; the last column is not padded.
std::string line_of(const Cells& cells, const std::array<std::size_t, columns>& width) {
  std::string line = "  ";
  for (std::size_t c = 0; c + 1 < columns; ++c)
    line += c < 2 ? fmt::format("{:<{}}  ", cells[c], width[c]) : fmt::format("{:>{}}  ", cells[c], width[c]);
  return line;
}

/// The titles of the groups, each where its first column's heading begins.
std::string groups_line(const std::array<std::size_t, columns>& width) {
  std::string line;
  for (const ColumnGroup& group : groups) {
    std::size_t at = 2;
    for (std::size_t c = 0; c < group.first; ++c) at += width[c] + 2;
    at += width[group.first] - heading[group.first].size();
    line.resize(std::max(at, line.size() + 2), ' ');
    line += group.title;
  }
  return line;
}

void device_table(std::string& text, const DeviceSummary& device, const TableOptions& options) {
  const DeviceInfo& info = device.device;
  const std::string title = fmt::format("{}  {}  ({}{}{})", info.id, info.name, info.driver,
                                        info.driver.empty() || info.api.empty() ? "" : ", ", info.api);
  text += options.colour ? "\033[1m" + title + "\033[0m\n" : title + "\n";
  std::vector<Cells> rows;
  std::array<std::size_t, columns> width{};
  for (std::size_t c = 0; c < columns; ++c) width[c] = heading[c].size();
  for (const PathSummary& path : device.paths) {
    rows.push_back(cells_of(path));
    for (std::size_t c = 0; c < columns; ++c) width[c] = std::max(width[c], rows.back()[c].size());
  }
  for (const std::string& head : {groups_line(width), line_of(heading, width) + heading.back()})
    text += options.colour ? "\033[2m" + head + "\033[0m\n" : head + "\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::string& verdict = rows[r].back();
    text += line_of(rows[r], width);
    text += options.colour ? colour_of(device.paths[r].worst) + verdict + "\033[0m\n" : verdict + "\n";
  }
  text += "\n";
}

/// What the columns mean, where it needs saying.
std::string notes_of(const RunSummary& summary) {
  bool mixed = false, drift = false, sampled = false;
  for (const DeviceSummary& device : summary.devices)
    for (const PathSummary& path : device.paths) {
      mixed = mixed || (path.plain_fills && path.cases > 1);
      sampled = sampled || path.sampled > 0;
      drift = drift || path.drift_bound_ratio || path.drift_results > 0;
    }
  std::string text;
  if (mixed)
    text +=
        "/bound (worst error over its bound), replay and verdict: all cases; the rest: those with normal or "
        "uniform fill.\n"
        "order: deviation over orders of summation, against the predicted one (expected 0.5 to 2 sigma).\n";
  if (sampled)
    text +=
        "sampled: some rows compared element by element, all sums by Freivalds' check; the record says which "
        "error is certain to be seen.\n";
  if (drift)
    text +=
        "end to end: drift of composite cases from the fp64 run of the same inputs; rel err: |got - want| / "
        "|want|, 2-norms.\n";
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string to_table(const RunSummary& summary, const TableOptions& options) {
  std::string text;
  for (const DeviceSummary& device : summary.devices) device_table(text, device, options);
  text += notes_of(summary);
  if (!summary.unsupported.empty()) text += "Not run, because unsupported:\n";
  for (const UnsupportedGroup& group : summary.unsupported) {
    text += "  " + (group.reason.empty() ? "no reason given" : group.reason) + "\n";
    for (const std::string& where : group.where) text += "    " + where + "\n";
  }
  if (!summary.unsupported.empty()) text += "\n";
  const std::string counts = verdict_counts(summary.verdicts) + flaky_text(summary);
  const std::size_t devices = summary.devices.size();
  const std::string where = fmt::format(" on {} {}", devices, devices == 1 ? "device" : "devices");
  for (const std::string& what : options.missing) text += "Incomplete: " + what + "\n";
  const bool proved = summary.judged() > 0 && options.missing.empty();
  const Verdict worst = summary.failed() > 0 ? Verdict::fail : proved ? Verdict::pass : Verdict::untrusted;
  const std::string word = worst == Verdict::fail     ? "FAILED"
                           : !options.missing.empty() ? "INCOMPLETE"
                           : proved                   ? "passed"
                                                      : "NOTHING JUDGED";
  text += options.colour ? colour_of(worst) + word + "\033[0m" : word;
  text += ": " + counts + (devices == 0 ? "" : where) + "\n";
  if (const std::string why = why_nothing_judged(summary); !why.empty()) text += "  " + why + "\n";
  return text;
}

}  // namespace parity
