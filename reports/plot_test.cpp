#include "reports/plot.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "reports/plot_axis.hpp"

namespace parity {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
}

/// Points of every path drawn with `look`, over all panels.
std::size_t points_drawn(const std::string& svg, const std::string& look) {
  std::size_t points = 0;
  const std::string begin = "<path class=\"plot-line plot-" + look + "\"";
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) {
    const std::string path = svg.substr(at, svg.find("/>", at) - at);
    if (path.find("M16 ") != std::string::npos) continue;  // of the legend
    const std::size_t data = path.find(" d=\"");
    points += 1 + count(path.substr(data), "L");
  }
  return points;
}

PlotLine line(std::string label, std::vector<double> y) {
  PlotLine l;
  l.label = std::move(label);
  for (std::size_t i = 0; i < y.size(); ++i) l.x.push_back(static_cast<double>(i));
  l.y = std::move(y);
  return l;
}

Plot plot_of(std::vector<PlotLine> lines, bool logarithmic = false) {
  Plot plot;
  plot.title = "title";
  plot.x_label = "step";
  plot.whole_x = true;
  plot.panels = {{"loss", logarithmic, 260, std::move(lines)}};
  return plot;
}

std::vector<std::string> texts(const PlotAxis& axis) {
  std::vector<std::string> all;
  for (const PlotAxis::Tick& tick : axis.ticks) all.push_back(tick.text);
  return all;
}

TEST(PlotAxis, LinearTicksAreRoundAndWithin) {
  const PlotAxis axis = make_axis(std::vector<double>{0, 199}, {.ticks = 10});
  EXPECT_EQ(texts(axis),
            (std::vector<std::string>{"0", "20", "40", "60", "80", "100", "120", "140", "160", "180"}));
  EXPECT_EQ(axis.place(0), 0);
  EXPECT_EQ(axis.place(199), 1);
  EXPECT_EQ(texts(make_axis(std::vector<double>{-0.3, 0.31}, {.ticks = 6})),
            (std::vector<std::string>{"-0.2", "0", "0.2"}));
  EXPECT_EQ(texts(make_axis(std::vector<double>{0, 1}, {.ticks = 10, .least_step = 1})),
            (std::vector<std::string>{"0", "1"}));
}

TEST(PlotAxis, NeighbouringTicksHaveDifferentTextsWhateverTheValues) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{{1, 1 + 1e-9},
                                                                        {1e-290, 2e-290},
                                                                        {-1e308, 1e308},
                                                                        {4.9e-324, 1e-323},
                                                                        {1e9, 1e9 + 3},
                                                                        {-7e-8, 3e-8},
                                                                        {123456, 123457}}) {
    const PlotAxis axis = make_axis(std::vector<double>{low, high}, {});
    ASSERT_GE(axis.ticks.size(), 2u) << low;
    ASSERT_LE(axis.ticks.size(), 20u) << low;
    for (std::size_t i = 0; i < axis.ticks.size(); ++i) {
      EXPECT_GE(axis.place(axis.ticks[i].value), -1e-9) << low;
      EXPECT_LE(axis.place(axis.ticks[i].value), 1 + 1e-9) << low;
      if (i > 0) {
        EXPECT_NE(axis.ticks[i].text, axis.ticks[i - 1].text) << low;
      }
    }
  }
}

TEST(PlotAxis, LogarithmicTicksAreDecades) {
  const PlotAxis axis = make_axis(std::vector<double>{0, -1, 3e-8, 2e-4, HUGE_VAL}, {.logarithmic = true});
  EXPECT_EQ(texts(axis), (std::vector<std::string>{"1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3"}));
  EXPECT_NEAR(axis.place(1e-8), 0, 1e-12);
  EXPECT_NEAR(axis.place(1e-3), 1, 1e-12);
  // One decade at the least, and of hundreds only some.
  EXPECT_EQ(texts(make_axis(std::vector<double>{1e-5}, {.logarithmic = true})),
            (std::vector<std::string>{"1e-5", "1e-4"}));
  EXPECT_LE(make_axis(std::vector<double>{1e-300, 1e300}, {.logarithmic = true}).ticks.size(), 8u);
}

TEST(PlotAxis, ConstantsAndNothingGetRoom) {
  for (const std::vector<double>& values :
       {std::vector<double>{2.5, 2.5}, {0}, {-3}, {}, {std::nan("")}, {1e300}, {1, 1 + 2e-16}}) {
    for (const bool logarithmic : {false, true}) {
      const PlotAxis axis = make_axis(values, {.logarithmic = logarithmic});
      EXPECT_LT(axis.low, axis.high);
      EXPECT_GE(axis.ticks.size(), 2u);
      if (!values.empty() && can_be_shown(values[0], logarithmic)) {
        EXPECT_GE(axis.place(values[0]), -1e-9);
        EXPECT_LE(axis.place(values[0]), 1 + 1e-9);
      }
    }
  }
}

TEST(Plot, HoldsTitleAxesLegendAndEveryPoint) {
  std::vector<double> falling;
  for (int i = 0; i < 500; ++i) falling.push_back(5 * std::exp(-0.01 * i));
  Plot plot = plot_of({line("cpu", falling), line("gpu", falling)});
  plot.panels[0].lines[0].reference = true;
  const std::string svg = to_svg(plot);
  for (const char* part :
       {"<svg xmlns=\"http://www.w3.org/2000/svg\"", "<title>title</title>", ">cpu</text>", ">gpu</text>",
        ">loss</text>", ">step</text>", ">100</text>", "prefers-color-scheme:dark"})
    expect_holds(svg, part);
  EXPECT_EQ(points_drawn(svg, "r"), 500u);
  EXPECT_EQ(points_drawn(svg, "0"), 500u);
  // The reference lies behind.
  EXPECT_LT(svg.rfind("plot-line plot-r"), svg.rfind("plot-line plot-0"));
}

TEST(Plot, NotANumberLeavesAGapAndIsSaid) {
  const std::string svg =
      to_svg(plot_of({line("gpu", {3, 2, std::nan(""), HUGE_VAL, 1, 0.5}), line("cpu", {3, 2, 1, 1, 1, 1})}));
  EXPECT_EQ(points_drawn(svg, "0"), 4u);
  EXPECT_EQ(points_drawn(svg, "1"), 6u);
  expect_holds(svg, "gpu: loss is not finite in 2 of 6 values, the first at step 2; not shown.");
  EXPECT_EQ(svg.find("cpu: loss"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, ZeroOnALogarithmicAxisLeavesAGapAndIsSaid) {
  const std::string svg = to_svg(plot_of({line("gpu", {0, 1e-7, 1e-6, 0})}, true));
  EXPECT_EQ(points_drawn(svg, "0"), 2u);
  expect_holds(svg, "gpu: loss is 0 or less in 2 of 4 values, the first at step 0; not shown.");
}

TEST(Plot, NothingToShowIsSaid) {
  const std::string svg = to_svg(plot_of({line("gpu", {std::nan(""), std::nan("")})}));
  expect_holds(svg, "no value can be shown");
  expect_holds(svg, "in all 2 values");
  expect_holds(to_svg(plot_of({})), "no value can be shown");
  expect_holds(to_svg(Plot{}), "</svg>");
}

TEST(Plot, OnePointAndPointsBetweenGapsAreDots) {
  EXPECT_EQ(count(to_svg(plot_of({line("gpu", {3})})), "<circle"), 1u);
  const std::string svg = to_svg(plot_of({line("gpu", {3, std::nan(""), 2, std::nan(""), 1, 1})}));
  EXPECT_EQ(count(svg, "<circle"), 2u);
  EXPECT_EQ(points_drawn(svg, "0"), 2u);
}

TEST(Plot, TextsAreEscapedEverywhere) {
  const std::string hostile = "<script>alert(\"x\")</script> & 'more' \x01 \xff";
  Plot plot = plot_of({line(hostile, {1, std::nan(""), 2})});
  plot.title = plot.subtitle = plot.x_label = plot.panels[0].y_label = hostile;
  const std::string svg = to_svg(plot);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
  EXPECT_EQ(svg.find('\xff'), std::string::npos);
  expect_holds(svg, "<title>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &apos;more&apos; ");
  // Every & begins an entity.
  for (std::size_t at = svg.find('&'); at != std::string::npos; at = svg.find('&', at + 1))
    EXPECT_LT(svg.find(';', at) - at, 7u);
}

TEST(Plot, LinesOfOneLabelLookAlikeAndOthersDoNot) {
  std::vector<PlotLine> lines;
  for (int i = 0; i < 30; ++i) lines.push_back(line("device " + std::to_string(i), {1, 2}));
  Plot plot = plot_of(lines);
  plot.panels.push_back(plot.panels[0]);
  const std::string svg = to_svg(plot);
  // A line's look is its path up to the data: 30 of them, each in the legend and in both panels.
  std::map<std::string, int> looks;
  for (std::size_t at = svg.find("<path"); at != std::string::npos; at = svg.find("<path", at + 1))
    ++looks[svg.substr(at, svg.find(" d=", at) - at)];
  EXPECT_EQ(looks.size(), 30u);
  for (const auto& [look, times] : looks) EXPECT_EQ(times, 3) << look;
}

}  // namespace
}  // namespace parity
