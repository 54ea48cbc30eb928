#include "reports/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace parity {

namespace {

using TextRow = std::vector<std::string>;

/// Left-aligned columns, two blanks apart, the last one as it is.
std::string aligned_rows(const std::vector<TextRow>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const TextRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const TextRow& row : rows) {
    std::string line(indent);
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("{:<{}}  ", row[c], widths[c]);
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  return text;
}

std::string markdown_rows(const std::vector<TextRow>& rows) {
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (std::string cell : rows[r]) {
      // A bar of an absolute value is no border.
      for (std::size_t at = cell.find('|'); at != std::string::npos; at = cell.find('|', at + 2))
        cell.replace(at, 1, "\\|");
      text += fmt::format(" {} |", cell);
    }
    text += "\n";
    if (r > 0) continue;
    text += "|";
    for (std::size_t c = 0; c < rows[r].size(); ++c) text += "---|";
    text += "\n";
  }
  return text;
}

std::string format_text(DType format) {
  return format == DType::f16 ? "fp16" : "fp32";
}

std::string ulp_text(double ulp) {
  if (!std::isfinite(ulp)) return "unbounded";
  if (ulp >= 1e6) return fmt::format("{:.2g}", ulp);
  return ulp < 10 ? fmt::format("{:.3f}", ulp) : fmt::format("{:.4g}", ulp);
}

std::string class_text(const MeasuredClass& c) {
  if (c.wrong > 0) return fmt::format("{} wrong", c.wrong);
  if (c.undefined > 0) return fmt::format("undefined, and {} of {} neither", c.undefined, c.arguments);
  if (c.kept > 0 && c.flushed > 0) return fmt::format("{} kept, {} flushed", c.kept, c.flushed);
  return c.kept > 0 ? "kept" : c.flushed > 0 ? "flushed" : "-";
}

/// The measure of a function over one set, or nothing.
const FunctionMeasure* measure_over(const DeviceProfile& profile, DeviceFunction function, DType format,
                                    std::string_view set) {
  for (const FunctionMeasure& m : profile.functions)
    if (m.function == function && m.format == format && m.arguments_text == set) return &m;
  return nullptr;
}

std::vector<std::string> sets_of(const DeviceProfile& profile, DType format) {
  std::vector<std::string> sets;
  for (const FunctionMeasure& m : profile.functions)
    if (m.format == format && std::ranges::find(sets, m.arguments_text) == sets.end())
      sets.push_back(m.arguments_text);
  return sets;
}

std::string argument_text_of(const FunctionMeasure& m) {
  if (m.function == DeviceFunction::div) return fmt::format("{:.7g} / {:.7g}", m.worst.a, m.worst.b);
  return fmt::format("{:.9g}", m.worst.a);
}

std::vector<TextRow> answer_rows(const DeviceProfile& profile, std::string_view format) {
  std::vector<TextRow> rows;
  std::string group;
  for (const ProfileAnswer& a : profile.answers) {
    if (a.format != format) continue;
    const std::string promise = a.promise.empty() ? "-" : a.promise;
    rows.push_back({a.group == group ? "" : a.group, a.question, a.answer,
                    a.finding.empty() ? promise : promise + "  FINDING"});
    group = a.group;
  }
  if (!rows.empty()) rows.insert(rows.begin(), {"", "", "found", "promised"});
  return rows;
}

std::string heading_of(const std::string& set) {
  // "all fp16 numbers" -> "fp16"
  if (!set.starts_with("all ")) return set.substr(0, set.find(" numbers"));
  const std::string rest = set.substr(4, set.find(' ', 4) - 4);
  return rest == "fp32" ? "all of fp32" : rest;
}

/// A row a function: errors by set, and of the last set where the worst is; what is promised.
std::vector<TextRow> error_rows(const DeviceProfile& profile, DType format) {
  const std::vector<std::string> sets = sets_of(profile, format);
  if (sets.empty()) return {};
  TextRow heading{"function"};
  for (const std::string& set : sets) heading.push_back(heading_of(set));
  for (const char* title : {"worst at", "of promise", "promised", "Vulkan", "CUDA"})
    heading.emplace_back(title);
  std::vector<TextRow> rows{heading};
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  for (const DeviceFunctionInfo& info : device_functions()) {
    const FunctionMeasure* last = measure_over(profile, info.function, format, sets.back());
    if (last == nullptr) continue;
    TextRow row{std::string(info.name)};
    bool broken = false;
    double ratio = 0;
    for (const std::string& set : sets) {
      const FunctionMeasure* m = measure_over(profile, info.function, format, set);
      row.push_back(m == nullptr ? "-" : ulp_text(m->worst.ulp) + (m->not_a_number > 0 ? ", NaN" : ""));
      broken = broken || (m != nullptr && !finding_of(*m).empty());
      ratio = std::max(ratio, m != nullptr ? m->max_ratio : 0);
    }
    const bool given = last->promise.given;
    row.push_back(argument_text_of(*last));
    row.push_back(given ? fmt::format("{:.3f}", ratio) : "-");
    row.push_back(or_dash(given ? last->promise.text : "") + (broken ? "  FINDING" : ""));
    row.push_back(or_dash(vulkan_promise(info.function, format).text));
    row.push_back(or_dash(cuda_promise(info.function, format).text));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The rest of the last, the largest set.
std::vector<TextRow> class_rows(const DeviceProfile& profile, DType format) {
  const std::vector<std::string> sets = sets_of(profile, format);
  if (sets.empty()) return {};
  std::vector<TextRow> rows{
      {"function", "not the nearest", "subnormal arguments", "subnormal results", "NaN and Inf"}};
  for (const DeviceFunctionInfo& info : device_functions()) {
    const FunctionMeasure* m = measure_over(profile, info.function, format, sets.back());
    if (m == nullptr) continue;
    const double share =
        static_cast<double>(m->not_rounded) / static_cast<double>(std::max<std::int64_t>(m->regular, 1));
    rows.push_back({std::string(info.name), fmt::format("{:.3g} %", 100 * share),
                    class_text(m->subnormal_arguments), class_text(m->subnormal_results),
                    m->specials.wrong > 0 ? fmt::format("{} of {} as IEEE 754 does not have it",
                                                        m->specials.wrong, m->specials.arguments)
                                          : "as IEEE 754 has it"});
  }
  return rows;
}

std::vector<std::string> absent_lines(const DeviceProfile& profile) {
  std::vector<std::string> lines;
  for (const AbsentFunction& a : profile.absent)
    lines.push_back(
        fmt::format("{} in {}: not there: {}", name_of(a.function), format_text(a.format), a.reason));
  for (const std::string& note : profile.notes) lines.push_back("not asked: " + note);
  return lines;
}

}  // namespace

std::string profile_text(const DeviceProfile& profile) {
  std::string text;
  for (const DType format : {DType::f32, DType::f16}) {
    const std::string name = format_text(format);
    if (const auto rows = answer_rows(profile, name); !rows.empty())
      text += fmt::format("  arithmetic in {}\n{}\n", name, aligned_rows(rows, "    "));
    if (const auto rows = error_rows(profile, format); !rows.empty())
      text += fmt::format("  functions in {}: largest error in ULP, by arguments\n{}\n{}\n", name,
                          aligned_rows(rows, "    "), aligned_rows(class_rows(profile, format), "    "));
  }
  if (const auto rows = answer_rows(profile, "products"); !rows.empty())
    text +=
        fmt::format("  sums of products in GEMM paths, fp32 accumulator\n{}\n", aligned_rows(rows, "    "));
  for (const std::string& line : absent_lines(profile)) text += "  " + line + "\n";
  const std::vector<std::string> findings = profile.findings();
  for (const std::string& finding : findings) text += "  FINDING: " + finding + "\n";
  if (findings.empty()) text += "  no promise is broken\n";
  return text;
}

std::string profile_markdown(const DeviceProfile& profile) {
  std::string text;
  for (const DType format : {DType::f32, DType::f16}) {
    const std::string name = format_text(format);
    if (const auto rows = answer_rows(profile, name); !rows.empty())
      text += fmt::format("Arithmetic in {}:\n\n{}\n", name, markdown_rows(rows));
    if (const auto rows = error_rows(profile, format); !rows.empty())
      text += fmt::format("Functions in {}, largest error in ULP by arguments:\n\n{}\n{}\n", name,
                          markdown_rows(rows), markdown_rows(class_rows(profile, format)));
  }
  if (const auto rows = answer_rows(profile, "products"); !rows.empty())
    text += fmt::format("Sums of products in GEMM paths, fp32 accumulator:\n\n{}\n", markdown_rows(rows));
  const std::vector<std::string> findings = profile.findings();
  for (const std::string& finding : findings) text += "- Finding: " + finding + "\n";
  if (findings.empty()) text += "No promise is broken.\n";
  return text;
}

}  // namespace parity
