#include "reports/gate/gate_text.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "reports/markdown_text.hpp"
#include "reports/xml_text.hpp"

namespace parity {
namespace {

constexpr std::size_t most_of_a_kind = 10;

/// What a finding is about, as a person would say it.
std::string subject(const GateFinding& finding) {
  std::string text = finding.path;
  if (!finding.case_text.empty()) text += fmt::format("{}{}", text.empty() ? "" : " | ", finding.case_text);
  if (!finding.tensor.empty()) text += fmt::format(" | {}", finding.tensor);
  return text.empty() ? "all cases" : text;
}

bool fails(const GateFinding& finding) {
  return finding.fails && finding.waived.empty();
}

std::string decision(const GateReport& report) {
  const std::string what =
      fmt::format("{} cases compared with the baseline, {} of {} results with the same bits", report.compared,
                  report.same_bits, report.results);
  if (report.passes()) return fmt::format("gate: passed; {}", what);
  if (report.compared == 0 && report.failures() == 0)
    return "gate: FAILED; no case of the baseline is in the records";
  if (report.failures() == 0)
    return fmt::format(
        "gate: NOTHING JUDGED; {} cases are in the baseline and in the records, and all of them "
        "are unsupported or untrusted",
        report.compared);
  return fmt::format("gate: FAILED; {} {}; {}", report.failures(),
                     report.failures() == 1 ? "finding" : "findings", what);
}

std::string driver_note(const GateReport& report) {
  if (report.driver_before == report.device.driver) return {};
  return fmt::format("the driver is '{}' and was '{}'", report.device.driver, report.driver_before);
}

/// Calls `show` with the findings of each kind, those that fail first, and how many of them are left out.
template <class Show>
void by_kind(const GateReport& report, Show&& show) {
  for (const bool failing : {true, false}) {
    auto at = report.findings.begin();
    while (at != report.findings.end()) {
      const auto end =
          std::find_if(at, report.findings.end(), [&](const GateFinding& f) { return f.kind != at->kind; });
      std::vector<const GateFinding*> kept;
      std::size_t all = 0;
      for (; at != end; ++at) {
        if (fails(*at) != failing) continue;
        if (++all <= most_of_a_kind) kept.push_back(&*at);
      }
      if (all > 0) show(kept, all - kept.size(), failing);
    }
  }
}

/// GitHub's own escapes for the text of a command, and for a property of one.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\n')
      out += "%0A";
    else if (c == '\r')
      out += "%0D";
    else if (property && c == ':')
      out += "%3A";
    else if (property && c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string gate_text(const GateReport& report) {
  std::string text;
  if (const std::string note = driver_note(report); !note.empty()) text += note + "\n";
  by_kind(report, [&](const std::vector<const GateFinding*>& findings, std::size_t left_out, bool failing) {
    for (const GateFinding* finding : findings) {
      text += fmt::format("{} {}: {}\n    {}\n",
                          failing                   ? "FAIL"
                          : finding->waived.empty() ? "note"
                                                    : "waived",
                          name_of(finding->kind), subject(*finding), finding->text);
      if (!finding->waived.empty()) text += fmt::format("    waived: {}\n", finding->waived);
      if (failing && !finding->repro.empty()) text += fmt::format("    {}\n", finding->repro);
    }
    if (left_out > 0) text += fmt::format("     ... and {} more of this kind\n", left_out);
  });
  return text + decision(report) + "\n";
}

std::string gate_markdown(const GateReport& report) {
  std::string text = fmt::format("## Parity gate: {}\n\n{}, commit {}. {}.\n\n",
                                 report.passes() ? "passed" : "**failed**", markdown_text(report.device.name),
                                 markdown_text(report.commit), markdown_text(decision(report)));
  if (const std::string note = driver_note(report); !note.empty())
    text += fmt::format("Note: {}.\n\n", markdown_text(note));
  if (report.findings.empty()) return text;
  text += "| | what | case | finding |\n|---|---|---|---|\n";
  by_kind(report, [&](const std::vector<const GateFinding*>& findings, std::size_t left_out, bool failing) {
    for (const GateFinding* finding : findings)
      text +=
          fmt::format("| {} | {} | {} | {}{} |\n",
                      failing                   ? "FAIL"
                      : finding->waived.empty() ? "note"
                                                : "waived",
                      name_of(finding->kind), markdown_text(subject(*finding)), markdown_text(finding->text),
                      finding->waived.empty() ? "" : " (" + markdown_text(finding->waived) + ")");
    if (left_out > 0) text += fmt::format("| | | | and {} more of this kind |\n", left_out);
  });
  return text;
}

std::string gate_annotations(const GateReport& report) {
  std::string text;
  by_kind(report, [&](const std::vector<const GateFinding*>& findings, std::size_t left_out, bool failing) {
    for (const GateFinding* finding : findings) {
      std::string message = fmt::format("{}: {}", subject(*finding), finding->text);
      if (!finding->waived.empty()) message += fmt::format("\nwaived: {}", finding->waived);
      if (!finding->repro.empty()) message += "\n" + finding->repro;
      text += fmt::format("::{} title={}::{}\n", failing ? "error" : "notice",
                          escaped(fmt::format("parity gate: {}", name_of(finding->kind)), true),
                          escaped(message, false));
    }
    if (left_out > 0)
      text += fmt::format("::{} title=parity gate::and {} more of this kind\n", failing ? "error" : "notice",
                          left_out);
  });
  return text;
}

std::string gate_junit(const GateReport& report) {
  std::string cases;
  std::int64_t tests = 1, failures = 0, skipped = 0;
  for (const GateFinding& finding : report.findings) {
    if (!finding.fails) continue;
    ++tests;
    cases += fmt::format("    <testcase classname=\"gate.{}\" name=\"{}\">", xml_text(name_of(finding.kind)),
                         xml_text(subject(finding)));
    if (finding.waived.empty()) {
      ++failures;
      cases += fmt::format("<failure message=\"{}\">{}</failure>", xml_text(finding.text),
                           xml_text(finding.repro));
    } else {
      ++skipped;
      cases +=
          fmt::format("<skipped message=\"{}\"/>", xml_text(finding.text + "; waived: " + finding.waived));
    }
    cases += "</testcase>\n";
  }
  std::string compared = "    <testcase classname=\"gate\" name=\"compared with the baseline\">";
  if (report.judged == 0) {
    ++failures;
    compared += fmt::format("<failure message=\"{}\"/>", xml_text(decision(report)));
  }
  compared += "</testcase>\n";
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" "
      "errors=\"0\" skipped=\"{}\">\n{}{}  </testsuite>\n</testsuites>\n",
      xml_text("parity gate: " + report.device.name), tests, failures, skipped, compared, cases);
}

}  // namespace parity
