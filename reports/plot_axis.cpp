#include "reports/plot_axis.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace parity {
namespace {

/// Beyond this, differences of values might overflow.
constexpr double largest = 1e300;
constexpr double smallest_positive = 1e-300;

/// The step of 1, 2 or 5 times a power of ten nearest above span / count.
double tick_step(double span, int count) {
  const double wanted = span / std::max(1, count);
  const double decade = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= wanted * (1 - 1e-9)) return factor * decade;
  return 10 * decade;
}

/// A tick's value with the digits that tell it from its neighbours, and no more.
std::string tick_text(double value, double step) {
  if (std::fabs(value) < step / 2) return "0";
  const double size = std::max(std::fabs(value), step);
  const int step_decade = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  if (size < 1e6 && step >= 1e-4) return fmt::format("{:.{}f}", value, std::max(0, -step_decade));
  const int digits = static_cast<int>(std::floor(std::log10(size))) - step_decade + 1;
  return fmt::format("{:.{}g}", value, std::clamp(digits, 1, 15));
}

void linear_ticks(PlotAxis& axis, int count, double least_step) {
  const double step = std::max(least_step, tick_step(axis.high - axis.low, count));
  const double first = std::ceil(axis.low / step - 1e-9);
  // Counted, not added up: the end is reached whatever the rounding.
  for (int i = 0; i <= 3 * count; ++i) {
    const double value = (first + i) * step;
    if (value > axis.high + step * 1e-9) break;
    axis.ticks.push_back({value, tick_text(value, step)});
  }
}

void decade_ticks(PlotAxis& axis, int count) {
  const int low = static_cast<int>(std::lround(std::log10(axis.low)));
  const int high = static_cast<int>(std::lround(std::log10(axis.high)));
  const int stride = std::max(1, (high - low + count - 1) / std::max(1, count));
  for (int decade = low; decade <= high; decade += stride)
    axis.ticks.push_back({std::pow(10, decade), fmt::format("1e{}", decade)});
}

}  // namespace

double PlotAxis::place(double value) const {
  if (logarithmic) return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
  return (value - low) / (high - low);
}

bool can_be_shown(double value, bool logarithmic) {
  return std::isfinite(value) && (!logarithmic || value > 0);
}

PlotAxis make_axis(std::span<const double> values, const AxisOptions& options) {
  const bool logarithmic = options.logarithmic;
  PlotAxis axis;
  axis.logarithmic = logarithmic;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : values) {
    if (!can_be_shown(value, logarithmic)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = high = 1;
  low = std::clamp(low, logarithmic ? smallest_positive : -largest, largest);
  high = std::clamp(high, logarithmic ? smallest_positive : -largest, largest);
  if (logarithmic) {
    const double first = std::floor(std::log10(low) + 1e-9);
    axis.low = std::pow(10, first);
    axis.high = std::pow(10, std::max(first + 1, std::ceil(std::log10(high) - 1e-9)));
    decade_ticks(axis, options.ticks);
    return axis;
  }
  const double size = std::max(std::fabs(low), std::fabs(high));
  // Equal, or so nearly that ticks between them would have equal texts.
  if (high - low <= std::max(size * 1e-12, smallest_positive)) {
    const double room = size > smallest_positive ? size * 0.05 : 1;
    low -= room;
    high += room;
  } else {
    const double room = (high - low) * options.margin;
    low -= room;
    high += room;
  }
  axis.low = low;
  axis.high = high;
  linear_ticks(axis, options.ticks, options.least_step);
  return axis;
}

}  // namespace parity
