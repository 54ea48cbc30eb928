// The picture of the order experiments: a row an experiment, dots over two logarithmic axes.
#include <fmt/format.h>

#include <algorithm>

#include "reports/order_report.hpp"
#include "reports/plot_axis.hpp"
#include "reports/xml_text.hpp"

namespace parity {
namespace {

constexpr double plot_width = 980, row_height = 17, top = 96, bottom = 44;
constexpr double most_ulp = 1e6;  // beyond: results that cancel to nearly nothing; drawn at the edge
constexpr double label_right = 428, bits_at = 456, ulp_left = 490, ulp_right = 720, sigma_left = 760,
                 sigma_right = 950;

// The colours of plot.cpp, one for each kind of experiment, and another shape each.
constexpr const char* order_style = R"(<style>
.order-ground{fill:#ffffff}.order-text{fill:#1f2328;font:12px system-ui,sans-serif}
.order-small{fill:#59636e;font:11px system-ui,sans-serif}
.order-title{fill:#1f2328;font:600 16px system-ui,sans-serif}
.order-grid{stroke:#e3e7eb}.order-band{fill:#e8f1e4}.order-stripe{fill:#f6f8fa}
.order-0{fill:#0072b2;stroke:#0072b2}.order-1{fill:#d55e00;stroke:#d55e00}
.order-2{fill:#009e73;stroke:#009e73}.order-3{fill:#b8528f;stroke:#b8528f}.order-4{fill:#59636e;stroke:#59636e}
.order-same{fill:none}
@media (prefers-color-scheme:dark){
.order-ground{fill:#0d1117}.order-text,.order-title{fill:#f0f6fc}.order-small{fill:#9198a1}
.order-grid{stroke:#262c36}.order-band{fill:#16281a}.order-stripe{fill:#151b23}
.order-0{fill:#56b4e9;stroke:#56b4e9}.order-1{fill:#ff8c42;stroke:#ff8c42}
.order-2{fill:#2ecc9b;stroke:#2ecc9b}.order-3{fill:#e79cc6;stroke:#e79cc6}.order-4{fill:#9198a1;stroke:#9198a1}
.order-same{fill:none}}
</style>
)";

int kind_of(const OrderRow& row) {
  if (row.what == "permuted") return 0;
  if (row.what.starts_with("split")) return 1;
  if (row.what == "alone") return 2;
  return row.what == "moved" ? 3 : 4;
}
constexpr const char* kind_names[] = {"terms permuted", "sum split", "entry alone", "moved", "repeated"};

/// A mark of its own shape and colour; hollow: the same bits in every case.
std::string mark(int kind, double x, double y, bool hollow) {
  const std::string look = fmt::format("class=\"order-{}{}\"{}", kind, hollow ? " order-same" : "",
                                       hollow ? " style=\"fill:none\"" : "");
  switch (kind) {
    case 0:
      return fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", look, x, y);
    case 1:
      return fmt::format("<path {} d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\"/>\n", look, x, y - 5);
    case 2:
      return fmt::format("<path {} d=\"M{:.1f} {:.1f}l4.5 8h-9z\"/>\n", look, x, y - 5);
    case 3:
      return fmt::format("<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\"/>\n", look, x - 3.5,
                         y - 3.5);
    default:
      return fmt::format("<path {} stroke-width=\"2\" d=\"M{:.1f} {:.1f}h8m-4 -4v8\"/>\n", look, x - 4, y);
  }
}

std::string text(double x, double y, const char* look, const char* anchor, const std::string& words) {
  return fmt::format("<text class=\"order-{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     look, x, y, anchor, xml_text(words));
}

/// Grid lines and their numbers over `height` pixels.
std::string grid(const PlotAxis& axis, double left, double right, double height) {
  std::string out;
  for (const PlotAxis::Tick& tick : axis.ticks) {
    const double x = left + axis.place(tick.value) * (right - left);
    out += fmt::format(
        "<line class=\"order-grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n", x, top,
        top + height);
    out += text(x, top + height + 16, "small", "middle", tick.text);
  }
  return out;
}

}  // namespace

std::string order_svg(const std::string& title, std::span<const OrderRow> rows) {
  std::vector<double> ulps{1}, sigmas{0.3, 3};
  for (const OrderRow& row : rows) {
    if (row.max_ulp > 0) ulps.push_back(std::min(row.max_ulp, most_ulp));
    if (row.max_sigma > 0) sigmas.push_back(row.max_sigma);
  }
  const PlotAxis ulp = make_axis(ulps, {.logarithmic = true, .ticks = 5});
  const PlotAxis sigma = make_axis(sigmas, {.logarithmic = true, .ticks = 4});
  const double height = row_height * static_cast<double>(rows.size());
  const auto x_of = [](const PlotAxis& axis, double value, double left, double right) {
    return left + std::clamp(axis.place(value), 0.0, 1.0) * (right - left);
  };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\">\n",
      plot_width, top + height + bottom);
  out += order_style;
  out += fmt::format("<rect class=\"order-ground\" width=\"100%\" height=\"100%\"/>\n");
  out += text(16, 26, "title", "start", "Order of summation: " + title);
  double legend = 16;
  for (int kind = 0; kind < 5; ++kind) {
    out += mark(kind, legend + 6, 46, false) + text(legend + 16, 50, "small", "start", kind_names[kind]);
    legend += 34 + 7.0 * static_cast<double>(std::string_view(kind_names[kind]).size());
  }
  out += text(legend, 50, "small", "start", "hollow: the same bits in every case");
  out += text(bits_at, top - 10, "small", "middle", "same bits");
  out += text((ulp_left + ulp_right) / 2, top - 10, "small", "middle",
              "largest range of an element, ULP (at most 1e6)");
  out += text((sigma_left + sigma_right) / 2, top - 10, "small", "middle", "rms deviation / predicted");
  for (std::size_t i = 0; i < rows.size(); i += 2)
    out += fmt::format("<rect class=\"order-stripe\" x=\"8\" width=\"{:.0f}\" y=\"{:.1f}\" height=\"{}\"/>\n",
                       plot_width - 16, top + row_height * static_cast<double>(i), row_height);
  const double band = x_of(sigma, 0.5, sigma_left, sigma_right);
  out +=
      fmt::format("<rect class=\"order-band\" x=\"{:.1f}\" width=\"{:.1f}\" y=\"{}\" height=\"{:.1f}\"/>\n",
                  band, x_of(sigma, 2, sigma_left, sigma_right) - band, top, height);
  out += grid(ulp, ulp_left, ulp_right, height) + grid(sigma, sigma_left, sigma_right, height);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const OrderRow& row = rows[i];
    const double y = top + row_height * (static_cast<double>(i) + 0.5);
    const int kind = kind_of(row);
    out += text(label_right, y + 4, "text", "end",
                fmt::format("{} {}: {} {}", row.op, row.path, row.what, row.along));
    if (row.same_bits == row.cases) {
      out += mark(kind, bits_at, y, true);
      continue;
    }
    if (row.max_ulp > 0) out += mark(kind, x_of(ulp, row.max_ulp, ulp_left, ulp_right), y, false);
    if (row.max_sigma > 0) out += mark(kind, x_of(sigma, row.max_sigma, sigma_left, sigma_right), y, false);
  }
  return out + "</svg>\n";
}

}  // namespace parity
