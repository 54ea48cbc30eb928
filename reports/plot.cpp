#include "reports/plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "reports/plot_axis.hpp"
#include "reports/xml_text.hpp"

namespace parity {
namespace {

constexpr double width = 860, left = 76, right = 24;
constexpr double area_width = width - left - right;

// Okabe and Ito's colours, "Color Universal Design" (2008); on dark ground lighter ones of the same hues.
// Class names begin with plot-, so that the file may stand inside a page.
constexpr const char* style = R"(<style>
.plot-ground{fill:#ffffff}
.plot-text{fill:#1f2328;font:12px system-ui,sans-serif}
.plot-small{fill:#59636e;font:11px system-ui,sans-serif}
.plot-title{fill:#1f2328;font:600 16px system-ui,sans-serif}
.plot-grid{stroke:#e3e7eb;stroke-width:1}
.plot-frame{stroke:#818b98;stroke-width:1;fill:none}
.plot-mark{stroke:#818b98;stroke-width:1;stroke-dasharray:3 3}
.plot-line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.plot-dot{stroke:none}
.plot-r{stroke:#aab2bb;stroke-width:6}.plot-r-dot{fill:#aab2bb}
.plot-0{stroke:#0072b2}.plot-0-dot{fill:#0072b2}
.plot-1{stroke:#d55e00}.plot-1-dot{fill:#d55e00}
.plot-2{stroke:#009e73}.plot-2-dot{fill:#009e73}
.plot-3{stroke:#b8528f}.plot-3-dot{fill:#b8528f}
.plot-4{stroke:#a87400}.plot-4-dot{fill:#a87400}
.plot-5{stroke:#1f2328}.plot-5-dot{fill:#1f2328}
@media (prefers-color-scheme:dark){
.plot-ground{fill:#0d1117}
.plot-text,.plot-title{fill:#f0f6fc}
.plot-small{fill:#9198a1}
.plot-grid{stroke:#262c36}
.plot-frame,.plot-mark{stroke:#656c76}
.plot-r{stroke:#59616b}.plot-r-dot{fill:#59616b}
.plot-0{stroke:#56b4e9}.plot-0-dot{fill:#56b4e9}
.plot-1{stroke:#ff8c42}.plot-1-dot{fill:#ff8c42}
.plot-2{stroke:#2ecc9b}.plot-2-dot{fill:#2ecc9b}
.plot-3{stroke:#e79cc6}.plot-3-dot{fill:#e79cc6}
.plot-4{stroke:#f0c040}.plot-4-dot{fill:#f0c040}
.plot-5{stroke:#f0f6fc}.plot-5-dot{fill:#f0f6fc}
}
</style>
)";
constexpr std::size_t colours = 6;
// As many as leave every pair of colour and dash different for 30 lines.
constexpr std::array<const char*, 5> dashes = {"", "7 4", "2 3", "10 3 2 3", "4 2"};

/// How a line of some label looks.
struct Look {
  std::string label, colour, dash;
  bool reference = false;
};

std::vector<Look> looks_of(const Plot& plot) {
  std::vector<Look> looks;
  std::size_t next = 0;
  for (const PlotPanel& panel : plot.panels)
    for (const PlotLine& line : panel.lines) {
      const auto known = [&](const Look& look) { return look.label == line.label; };
      if (std::any_of(looks.begin(), looks.end(), known)) continue;
      Look look{line.label, "r", "", line.reference};
      if (!line.reference) {
        look.colour = std::to_string(next % colours);
        look.dash = dashes[next % dashes.size()];
        ++next;
      }
      looks.push_back(std::move(look));
    }
  return looks;
}

const Look& look_of(const std::vector<Look>& looks, const PlotLine& line) {
  return *std::find_if(looks.begin(), looks.end(),
                       [&](const Look& look) { return look.label == line.label; });
}

void text_at(std::string& out, double x, double y, const char* kind, const char* anchor,
             std::string_view text) {
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"plot-{}\" text-anchor=\"{}\">{}</text>\n", x, y,
                     kind, anchor, xml_text(text));
}

void segment(std::string& out, const char* kind, double x1, double y1, double x2, double y2) {
  out += fmt::format("<line class=\"plot-{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                     kind, x1, y1, x2, y2);
}

std::string dash_attribute(const Look& look) {
  return look.dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", look.dash);
}

/// Words on lines of at most `most` characters; a longer word stays whole.
std::vector<std::string> wrapped(const std::string& text, std::size_t most) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > most)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  }
  return lines;
}

std::size_t points_of(const PlotLine& line) {
  return std::min(line.x.size(), line.y.size());
}

/// A line's points, gap by gap; a point alone is a dot, for a path of one point shows nothing.
void draw_line(std::string& out, const PlotLine& line, const Look& look, const PlotAxis& x, const PlotAxis& y,
               double top, double height) {
  const std::size_t points = points_of(line);
  const auto at_x = [&](std::size_t i) { return left + x.place(line.x[i]) * area_width; };
  const auto at_y = [&](std::size_t i) {
    return top + (1 - std::clamp(y.place(line.y[i]), 0.0, 1.0)) * height;
  };
  for (std::size_t i = 0; i < points;) {
    if (!can_be_shown(line.y[i], y.logarithmic)) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < points && can_be_shown(line.y[end], y.logarithmic)) ++end;
    if (end == i + 1) {
      out += fmt::format("<circle class=\"plot-dot plot-{}-dot\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{}\"/>\n",
                         look.colour, at_x(i), at_y(i), look.reference ? 5 : 3);
    } else {
      out += fmt::format("<path class=\"plot-line plot-{}\"{} d=\"", look.colour, dash_attribute(look));
      for (std::size_t p = i; p < end; ++p)
        out += fmt::format("{}{:.2f} {:.2f}", p == i ? 'M' : 'L', at_x(p), at_y(p));
      out += "\"/>\n";
    }
    i = end;
  }
}

/// The numbers stand above the uppermost panel.
void draw_marks(std::string& out, const std::vector<PlotMark>& marks, const PlotAxis& x, double top,
                double height, bool first) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const double at = left + x.place(marks[i].x) * area_width;
    segment(out, "mark", at, top, at, top + height);
    if (first) text_at(out, at, top - 4, "small", "middle", std::to_string(i + 1));
  }
}

void draw_panel(std::string& out, const PlotPanel& panel, const std::vector<Look>& looks, const PlotAxis& x,
                double top, bool last) {
  std::vector<double> values;
  bool some = false;
  for (const PlotLine& line : panel.lines)
    for (std::size_t i = 0; i < points_of(line); ++i) {
      values.push_back(line.y[i]);
      some = some || can_be_shown(line.y[i], panel.logarithmic);
    }
  const PlotAxis y = make_axis(values, {panel.logarithmic, panel.height < 200 ? 4 : 6, 0.04});
  const double bottom = top + panel.height;
  for (const PlotAxis::Tick& tick : y.ticks) {
    const double at = top + (1 - y.place(tick.value)) * panel.height;
    segment(out, "grid", left, at, left + area_width, at);
    if (some) text_at(out, left - 8, at + 4, "small", "end", tick.text);
  }
  for (const PlotAxis::Tick& tick : x.ticks) {
    const double at = left + x.place(tick.value) * area_width;
    segment(out, "grid", at, top, at, bottom);
    segment(out, "frame", at, bottom, at, bottom + 4);
    if (last) text_at(out, at, bottom + 18, "small", "middle", tick.text);
  }
  out += fmt::format(
      "<rect class=\"plot-frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", left,
      top, area_width, panel.height);
  const double middle = top + panel.height / 2;
  out += fmt::format(
      "<text class=\"plot-text\" text-anchor=\"middle\" transform=\"translate(18 {:.1f}) "
      "rotate(-90)\">{}</text>\n",
      middle, xml_text(panel.y_label));
  if (!some) text_at(out, left + area_width / 2, middle + 4, "small", "middle", "no value can be shown");
  for (const bool reference : {true, false})
    for (const PlotLine& line : panel.lines)
      if (line.reference == reference) draw_line(out, line, look_of(looks, line), x, y, top, panel.height);
}

/// What a panel could not show, a sentence a line and kind of value.
void gaps_of(const PlotPanel& panel, const std::string& x_label, std::vector<std::string>& notes) {
  for (const PlotLine& line : panel.lines) {
    for (const bool finite : {false, true}) {
      std::size_t hidden = 0, first = 0;
      for (std::size_t i = 0; i < points_of(line); ++i) {
        const double y = line.y[i];
        if (can_be_shown(y, panel.logarithmic) || std::isfinite(y) != finite) continue;
        if (hidden++ == 0) first = i;
      }
      if (hidden == 0) continue;
      notes.push_back(fmt::format("{}: {} {} {} values, the first at {} {:g}; not shown.", line.label,
                                  panel.y_label, finite ? "is 0 or less in" : "is not finite in",
                                  hidden == points_of(line)
                                      ? fmt::format("all {}", hidden)
                                      : fmt::format("{} of {}", hidden, points_of(line)),
                                  x_label, line.x[first]));
    }
  }
}

}  // namespace

std::string to_svg(const Plot& plot) {
  const std::vector<Look> looks = looks_of(plot);
  std::vector<double> xs;
  std::vector<std::string> notes;
  for (const PlotPanel& panel : plot.panels) {
    for (const PlotLine& line : panel.lines) xs.insert(xs.end(), line.x.begin(), line.x.end());
    gaps_of(panel, plot.x_label, notes);
  }
  for (std::size_t i = 0; i < plot.marks.size(); ++i) {
    xs.push_back(plot.marks[i].x);
    notes.push_back(fmt::format("{}: {}", i + 1, plot.marks[i].text));
  }
  const PlotAxis x = make_axis(xs, {.ticks = 10, .least_step = plot.whole_x ? 1.0 : 0.0});

  std::string body;
  double y = 28;
  text_at(body, 16, y, "title", "start", plot.title);
  for (const std::string& line : wrapped(plot.subtitle, 130))
    text_at(body, 16, y += 17, "small", "start", line);
  y += 8;
  for (const Look& look : looks) {
    y += 18;
    body += fmt::format("<path class=\"plot-line plot-{}\"{} d=\"M16 {:.1f}L56 {:.1f}\"/>\n", look.colour,
                        dash_attribute(look), y - 4, y - 4);
    text_at(body, 64, y, "text", "start", look.label);
  }
  y += plot.marks.empty() ? 18 : 26;
  for (const PlotPanel& panel : plot.panels) {
    const bool last = &panel == &plot.panels.back();
    draw_panel(body, panel, looks, x, y, last);
    draw_marks(body, plot.marks, x, y, panel.height, &panel == &plot.panels.front());
    y += panel.height + (last ? 38 : 22);
  }
  text_at(body, left + area_width / 2, y, "text", "middle", plot.x_label);
  y += 8;
  for (const std::string& note : notes)
    for (const std::string& line : wrapped(note, 130)) text_at(body, 16, y += 17, "small", "start", line);
  const double height = y + 16;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
             width, height, xml_text(plot.title)) +
         style +
         fmt::format("<rect class=\"plot-ground\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", width, height) +
         body + "</svg>\n";
}

}  // namespace parity
