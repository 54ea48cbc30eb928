#pragma once
#include <span>
#include <string>
#include <vector>

namespace parity {

/// An axis of a plot: what it spans, linear or logarithmic, and where its ticks are.
struct PlotAxis {
  double low = 0, high = 1;  ///< low < high; both positive on a logarithmic axis
  bool logarithmic = false;
  struct Tick {
    double value;
    std::string text;
  };
  std::vector<Tick> ticks;  ///< within [low, high], ascending

  /// Where a value lies: 0 at `low`, 1 at `high`.
  double place(double value) const;
};

/// Whether an axis can show a value: finite, and above zero on a logarithmic one.
bool can_be_shown(double value, bool logarithmic);

/// An axis over the values that can be shown, with about `ticks` ticks at 1, 2 or 5 times a power of ten; a
/// logarithmic one spans whole decades. Values that are all equal, or none at all, get room around them.
struct AxisOptions {
  bool logarithmic = false;
  int ticks = 6;
  double margin = 0;      ///< left free at both ends of a linear axis, as a fraction of it
  double least_step = 0;  ///< between the ticks of a linear axis: 1 for counts
};
PlotAxis make_axis(std::span<const double> values, const AxisOptions& options);

}  // namespace parity
