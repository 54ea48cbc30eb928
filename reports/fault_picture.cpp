#include "reports/fault_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/fault_text.hpp"
#include "reports/plot.hpp"
#include "reports/xml_text.hpp"

namespace parity {

namespace {

constexpr double row_height = 16, cell = 18, name_width = 252, left_margin = 20, head_height = 150;

// The colours of plot.cpp; class names begin with faults-, so that the file may stand inside a page.
constexpr const char* matrix_style = R"(<style>
.faults-ground{fill:#ffffff}
.faults-text{fill:#1f2328;font:11px system-ui,sans-serif}
.faults-small{fill:#59636e;font:11px system-ui,sans-serif}
.faults-title{fill:#1f2328;font:600 16px system-ui,sans-serif}
.faults-empty{fill:none;stroke:#d8dee4;stroke-width:1}
.faults-check{fill:#0072b2}
.faults-common{fill:#d55e00}
.faults-missed{fill:#c00000;font:600 11px system-ui,sans-serif}
.faults-rule{stroke:#d8dee4;stroke-width:1}
@media (prefers-color-scheme:dark){
.faults-ground{fill:#0d1117}
.faults-text,.faults-title{fill:#f0f6fc}
.faults-small{fill:#9198a1}
.faults-empty{stroke:#30363d}
.faults-check{fill:#56b4e9}
.faults-common{fill:#ff8c42}
.faults-missed{fill:#ff7b72}
.faults-rule{stroke:#30363d}
}
</style>
)";

std::string text_at(double x, double y, std::string_view kind, const std::string& text,
                    const std::string& more = "") {
  return fmt::format("<text class=\"faults-{}\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", kind, x, y, more,
                     xml_text(text));
}

constexpr double side = 12;

/// The outlines of a row's squares, as one element.
std::string outlines(double y, const std::vector<double>& places) {
  std::string path;
  for (const double x : places) path += fmt::format("M{:.0f} {:.0f}h{}v{}h-{}z", x, y, side, side, side);
  return fmt::format("<path class=\"faults-empty\" d=\"{}\"/>\n", path);
}

/// A square, filled as far as the rate goes.
std::string square_at(double x, double y, std::string_view kind, const Rate& rate) {
  if (rate.seen == 0) return {};
  // Never thinner than what an eye can see.
  const double part = std::max(0.25, rate.value()) * side;
  return fmt::format("<rect class=\"faults-{}\" x=\"{:.0f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>\n",
                     kind, x, y + side - part, side, part);
}

std::string file_word(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return out;
}

}  // namespace

std::string fault_matrix_svg(const FaultSummary& summary) {
  std::vector<std::size_t> checks;
  for (std::size_t i = 0; i < summary.checks.size(); ++i)
    if (summary.checks[i].seen > 0) checks.push_back(i);
  std::vector<const FaultRow*> rows;
  for (const FaultRow& row : summary.rows)
    if (row.state != FaultRow::State::absent) rows.push_back(&row);

  const double first_x = left_margin + name_width;
  const double common_x = first_x + cell * static_cast<double>(checks.size()) + 22;
  const double width = common_x + cell * 4 + 92;
  const double height = head_height + row_height * static_cast<double>(rows.size()) + 44;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" role=\"img\">\n{2}<rect class=\"faults-ground\" width=\"100%\" height=\"100%\"/>\n",
      width, height, matrix_style);
  svg += text_at(left_margin, 26, "title", "Which check saw which fault");
  svg += text_at(left_margin, 46, "small", heading(*summary.run));
  svg += text_at(left_margin, 64, "small",
                 fmt::format("{} of {} faults caught", summary.faults.seen, summary.faults.trials));
  svg += text_at(left_margin, 82, "small", "a square is filled as far as the trials go");
  const auto column_label = [&](double x, const std::string& label) {
    svg += text_at(x + 10, head_height - 12, "text", label,
                   fmt::format(" transform=\"rotate(-50 {:.1f} {:.1f})\"", x + 10, head_height - 12));
  };
  for (std::size_t i = 0; i < checks.size(); ++i)
    column_label(first_x + cell * static_cast<double>(i),
                 std::string(faults::name_of(static_cast<faults::Check>(checks[i]))));
  for (std::size_t i = 0; i < 4; ++i)
    column_label(common_x + cell * static_cast<double>(i), std::string(faults::threshold_names[i]));

  std::vector<double> places;
  for (std::size_t i = 0; i < checks.size(); ++i) places.push_back(first_x + cell * static_cast<double>(i));
  for (int i = 0; i < 4; ++i) places.push_back(common_x + cell * i);

  double y = head_height;
  int rung = 0;
  for (const FaultRow* row : rows) {
    if (row->entry->rung != rung) {
      rung = row->entry->rung;
      svg += fmt::format(
          "<line class=\"faults-rule\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
          left_margin, common_x + cell * 4, y - 1.5);
      svg += text_at(common_x + cell * 4 + 8, y + 11, "small", fmt::format("rung {}", rung));
    }
    const bool missed = row->state == FaultRow::State::missed;
    svg += text_at(left_margin, y + 11, missed ? "missed" : "text",
                   row->entry->name + (missed ? " (missed)" : ""));
    svg += outlines(y + 1, places);
    for (std::size_t i = 0; i < checks.size(); ++i)
      svg += square_at(first_x + cell * static_cast<double>(i), y + 1, "check", row->checks[checks[i]]);
    for (std::size_t i = 0; i < 4; ++i)
      svg += square_at(common_x + cell * static_cast<double>(i), y + 1, "common", row->thresholds[i]);
    y += row_height;
  }
  svg += text_at(left_margin, y + 22, "small",
                 "blue: the project's checks; orange: thresholds in common use, on the same results");
  return svg + "</svg>\n";
}

std::string severity_svg(const FaultSummary& summary) {
  Plot plot;
  plot.title = "Detection against severity";
  plot.subtitle = heading(*summary.run) +
                  ". Faults whose severity is a relative change, each on all its cases, places and seeds.";
  plot.x_label = "severity, power of ten";
  for (const char* label : {"caught by the verdict", "by bounds alone", "by assert_close"}) {
    plot.panels.emplace_back();
    plot.panels.back().y_label = label;
    plot.panels.back().height = 170;
  }
  for (const SeverityCurve& curve : summary.curves) {
    const bool relative = curve.points.front().severity <= 1 && curve.points.back().severity < 0.01;
    if (!relative) continue;
    std::array<PlotLine, 3> lines;
    for (PlotLine& line : lines) line.label = curve.name();
    for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point) {
      if (point->caught.trials == 0) continue;
      const std::array<const Rate*, 3> rates = {&point->caught, &point->bounds, &point->thresholds[2]};
      for (std::size_t i = 0; i < 3; ++i) {
        lines[i].x.push_back(std::log10(point->severity));
        lines[i].y.push_back(rates[i]->value());
      }
    }
    for (std::size_t i = 0; i < 3; ++i) plot.panels[i].lines.push_back(std::move(lines[i]));
  }
  return plot.panels.front().lines.empty() ? std::string() : to_svg(plot);
}

std::vector<FaultPicture> fault_pictures(std::span<const FaultSummary> summaries) {
  std::vector<FaultPicture> pictures;
  std::set<std::string> names;
  for (const FaultSummary& summary : summaries) {
    std::string word = file_word(summary.run->device);
    if (summary.run->order_withheld) word += "-withheld";
    if (summary.run->held_out) word += "-held-out";
    for (int i = 2; !names.insert(word).second; ++i)
      word = fmt::format("{}-{}", file_word(summary.run->device), i);
    pictures.push_back({fmt::format("faults_{}.svg", word),
                        "Which check saw which fault, " + heading(*summary.run), fault_matrix_svg(summary)});
    if (std::string svg = severity_svg(summary); !svg.empty())
      pictures.push_back({fmt::format("severity_{}.svg", word),
                          "Detection against severity, " + heading(*summary.run), std::move(svg)});
  }
  return pictures;
}

}  // namespace parity
