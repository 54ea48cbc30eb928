#pragma once
#include <string>
#include <vector>

namespace parity {

/// Points joined by a line. Where y cannot be shown (NaN, Inf; zero or less on a logarithmic axis) the line
/// has a gap, and the plot says so below.
struct PlotLine {
  std::string label;         ///< lines of one label share a colour, a dash and an entry of the legend
  std::vector<double> x, y;  ///< equally many, x finite and ascending
  bool reference = false;    ///< drawn broad and pale, behind the others
};

/// One pair of axes.
struct PlotPanel {
  std::string y_label;
  bool logarithmic = false;  ///< the y axis
  double height = 260;       ///< of the area between the axes, pixels
  std::vector<PlotLine> lines;
};

/// A numbered line across all panels; what it says stands below them.
struct PlotMark {
  double x = 0;
  std::string text;
};

/// Panels below each other over one x axis.
struct Plot {
  std::string title;
  std::string subtitle;  ///< wrapped
  std::string x_label;
  bool whole_x = false;  ///< x counts something: ticks at whole numbers only
  std::vector<PlotPanel> panels;
  std::vector<PlotMark> marks = {};
};

/// The plot as an SVG file that needs nothing else: title, legend, axes with ticks, light or dark as the
/// viewer prefers. Colours stay apart for colour-blind readers, and so do dashes. Any text is escaped.
std::string to_svg(const Plot& plot);

}  // namespace parity
