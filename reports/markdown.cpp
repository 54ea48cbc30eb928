#include "reports/markdown.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "reports/failure_text.hpp"
#include "reports/markdown_text.hpp"
#include "reports/order_report.hpp"
#include "reports/summary.hpp"
#include "reports/training_plot.hpp"

namespace parity {
namespace {

/// A fence longer than any run of backticks in the text.
std::string fenced(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  return fence + "text\n" + text + fence + "\n";
}

void device_table(std::string& out, const DeviceSummary& device) {
  const DeviceInfo& info = device.device;
  out += fmt::format("## {}: {}\n\n{}{}{}\n\n", markdown_text(info.id), markdown_text(info.name),
                     markdown_text(info.driver), info.driver.empty() || info.api.empty() ? "" : ", ",
                     markdown_text(info.api));
  out +=
      "| rung | path | cases | err/bound | max err | mean err | cos_sim | replay | order spread | "
      "drift/bound "
      "| drift | verdict |\n";
  out += "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";
  for (const PathSummary& path : device.paths) {
    out += fmt::format("| {} | {} | {} ", markdown_text(path.stage), markdown_text(path.path), path.cases);
    if (path.elements == 0)
      out += "| - | - | - | - | - | - | - | - ";
    else
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} ", bound_text(path.max_bound_ratio),
                         short_number(path.max_abs), short_number(path.mean_abs), cosine_text(path.cosine),
                         replay_text(path.replay_equal, path.replay_compared), order_text(path),
                         drift_texts(path).first, drift_texts(path).second);
    out += fmt::format("| {} |\n", verdict_counts(path.verdicts));
  }
  out += "\n";
}

}  // namespace

std::string to_markdown(std::span<const Record> records, const MarkdownOptions& options) {
  const std::vector<std::string>& missing = options.missing;
  const RunSummary summary = summarise(records);
  std::string out = "# Parity ladder: ";
  out += summary.failed() > 0   ? "failed"
         : !missing.empty()     ? "incomplete"
         : summary.judged() > 0 ? "passed"
                                : "nothing was judged";
  out += "\n\n" + verdict_counts(summary.verdicts) + flaky_text(summary) + ".";
  if (const std::string why = why_nothing_judged(summary); !why.empty()) out += " Yet " + why + ".";
  if (!records.empty()) {
    const Provenance& provenance = records.front().provenance;
    if (!provenance.commit.empty()) out += " Commit " + markdown_text(provenance.commit) + ".";
    if (!provenance.started.empty()) out += " Started " + markdown_text(provenance.started) + ".";
  }
  out += "\n\n";
  for (const std::string& what : missing) out += "**Incomplete:** " + markdown_text(what) + ".\n\n";
  for (const DeviceSummary& device : summary.devices) device_table(out, device);
  out += training_markdown(training_figures(records), options.images);
  out += order_markdown(order_figures(records), options.images);

  std::size_t shown = 0, left = 0;
  for (const Record& record : records) {
    if (record.verdict == Verdict::pass || record.verdict == Verdict::unsupported) continue;
    if (shown == options.failures) {
      ++left;
      continue;
    }
    if (shown++ == 0) out += "## Not passed\n\n";
    out += fenced(failure_text(record)) + "\n";
  }
  if (left > 0) out += fmt::format("And {} more; see the records.\n\n", left);

  if (!summary.unsupported.empty()) out += "## Unsupported\n\n";
  for (const UnsupportedGroup& group : summary.unsupported) {
    out += "- " + markdown_text(group.reason) + "\n";
    for (const std::string& where : group.where) out += "  - " + markdown_text(where) + "\n";
  }
  return out;
}

}  // namespace parity
