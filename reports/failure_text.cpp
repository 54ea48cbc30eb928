#include "reports/failure_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/summary.hpp"

namespace parity {
namespace {

/// Enough digits to tell neighbours of the dtype apart.
std::string number(double value, DType dtype) {
  const int digits = dtype == DType::f64 ? 17 : dtype == DType::i32 ? 10 : 9;
  return fmt::format("{:.{}g}", value, digits);
}

std::string index_text(const WorstElement& element, bool batched) {
  return batched ? fmt::format("[{}, {}, {}]", element.batch, element.row, element.col)
                 : fmt::format("[{}, {}]", element.row, element.col);
}

void worst_elements(std::string& text, const OutputRecord& output, std::size_t limit) {
  const auto& worst = output.judgement.statistics.worst;
  const std::size_t count = std::min(limit, worst.size());
  if (count == 0) return;
  const bool batched = output.shape.size() > 2;
  std::vector<std::array<std::string, 6>> cells;
  cells.push_back({"at", "expected", "got", "bits", "bound", "err/bound"});
  for (std::size_t i = 0; i < count; ++i) {
    const WorstElement& e = worst[i];
    cells.push_back(
        {index_text(e, batched), fmt::format("{:.{}g}", e.want, output.dtype == DType::f64 ? 17 : 10),
         number(e.got, output.dtype), fmt::format("0x{:0{}x}", e.got_bits, 2 * size_of(output.dtype)),
         short_number(e.bound), short_number(e.ratio)});
  }
  std::array<std::size_t, 6> width{};
  for (const auto& row : cells)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  text += "  worst elements of " + output.tensor + ":\n";
  for (const auto& row : cells) {
    std::string line = "   ";
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format(" {:>{}} ", row[c], width[c]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
}

}  // namespace

std::string aggregate_text(const AggregateFinding& finding) {
  static constexpr const char* scopes[] = {"row", "column", "tile", "the whole tensor"};
  const bool tensor = finding.scope == AggregateFinding::Scope::tensor;
  std::string where = scopes[static_cast<std::size_t>(finding.scope)];
  if (!tensor) where += fmt::format(" {}", finding.index);
  if (!tensor && finding.batch > 0) where += fmt::format(" of batch entry {}", finding.batch);
  static constexpr const char* kinds[] = {"bias", "magnitude", "spread"};
  return fmt::format("{} of {}: {:.1f} standard deviations", kinds[static_cast<std::size_t>(finding.kind)],
                     where, finding.deviate);
}

namespace {

void output_text(std::string& text, const OutputRecord& output, const std::string& said, std::size_t limit) {
  const Judgement& judgement = output.judgement;
  if (judgement.verdict == Verdict::pass) return;
  const ErrorStatistics& s = judgement.statistics;
  text += fmt::format("  output {} {} {} of {}: {}\n", output.tensor, name_of(output.dtype),
                      to_string(output.shape), output.op, name_of(judgement.verdict));
  for (const std::string& reason : judgement.reasons)
    if (reason != said) text += "    " + reason + "\n";
  if (s.elements > 0 && judgement.location.wrong > 0)
    text += fmt::format("    {} of {} elements outside their contract; where: {}\n", judgement.location.wrong,
                        s.elements, judgement.location.pattern);
  if (s.nan + s.inf + s.unwritten + s.missing_nan > 0)
    text += fmt::format(
        "    {} NaN, {} Inf ({} where a finite number belongs), {} never written, {} NaN missing\n", s.nan,
        s.inf, s.unexpected_nonfinite, s.unwritten, s.missing_nan);
  for (std::size_t i = 0; i < std::min<std::size_t>(4, judgement.aggregates.size()); ++i)
    text += "    " + aggregate_text(judgement.aggregates[i]) + "\n";
  if (judgement.aggregates.size() > 4)
    text += fmt::format("    and {} more findings of that kind\n", judgement.aggregates.size() - 4);
  if (judgement.replay.attempted)
    text += fmt::format("    replay as {}: {} of {} elements have equal bits\n", judgement.replay.model,
                        judgement.replay.equal, judgement.replay.compared);
  worst_elements(text, output, limit);
}

}  // namespace

std::string failure_text(const Record& record, std::size_t elements) {
  std::string text = fmt::format("{}: {} on {} of {} ({})\n", name_of(record.verdict), record.case_text,
                                 record.path, record.device.id, record.device.name);
  if (!record.reason.empty()) text += "  " + record.reason + "\n";
  for (const Rerun& rerun : record.reruns)
    text += fmt::format("  run again: {}{}{}\n", name_of(rerun.verdict), rerun.reason.empty() ? "" : ": ",
                        rerun.reason);
  for (const std::string& note : record.notes)
    if (note != record.reason) text += "  note: " + note + "\n";
  for (const OutputRecord& output : record.outputs) output_text(text, output, record.reason, elements);
  for (const GuardDamage& damage : record.guard_damage)
    text += fmt::format("  written outside {}: {} bytes, the first at byte {} of the tensor\n", damage.tensor,
                        damage.bytes, damage.byte_offset);
  if (!record.last_words.empty()) text += "  the last lines of its worker:\n";
  for (const std::string& line : record.last_words) text += "    " + line + "\n";
  if (!record.repro.empty()) text += "  again: " + record.repro + "\n";
  return text;
}

}  // namespace parity
