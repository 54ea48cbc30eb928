#include "harness/numerics/error_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "harness/numerics/store_grid.hpp"
#include "harness/numerics/unit_pass.hpp"

namespace parity {
namespace {

/// A record is read by people and lives long: three digits are enough there.
double three_digits(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr) : value;
}

std::int64_t cells_of(std::int64_t extent, std::int64_t cell) {
  return (extent + cell - 1) / cell;
}

/// Quantiles of the normal distribution in the middle of equal shares.
class NormalQuantiles {
 public:
  static constexpr std::size_t shares = 16, phases = 8;
  NormalQuantiles() {
    constexpr std::size_t total = shares * phases;
    for (std::size_t i = 0; i < total; ++i) {
      const double below = (static_cast<double>(i) + 0.5) / total;
      double low = -5, high = 5;
      for (int step = 0; step < 40; ++step) {
        const double middle = 0.5 * (low + high);
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) < below ? low : high) = middle;
      }
      quantiles_[i % phases][i / phases] = low;
    }
  }
  /// Equal shares, shifted by a part of one: several elements together have finer ones.
  const std::array<double, shares>& phase(std::size_t number) const { return quantiles_[number % phases]; }

 private:
  std::array<std::array<double, shares>, phases> quantiles_{};
};

double stored(const StoreGrid& grid, double x, const Contract& contract) {
  if (!contract.store_rounds || !grid.narrow) return x;
  const double nearest = grid::nearest_unbounded(grid, x);
  if (contract.store_rounding == Rounding::nearest_even) return nearest;
  return std::fabs(nearest) > std::fabs(x) ? nearest - std::copysign(grid::ulp(grid, x), x) : nearest;
}

double at_or_zero(const std::vector<double>& values, std::int64_t index) {
  return values.empty() ? 0 : values[static_cast<std::size_t>(index)];
}

}  // namespace

ErrorMap ErrorMap::over(std::int64_t matrix_rows, std::int64_t matrix_columns) {
  ErrorMap map;
  if (matrix_rows <= 0 || matrix_columns <= 0) return map;
  map.cell_rows = cells_of(matrix_rows, most_cells);
  map.cell_columns = cells_of(matrix_columns, most_cells);
  map.rows = cells_of(matrix_rows, map.cell_rows);
  map.columns = cells_of(matrix_columns, map.cell_columns);
  map.ratios.assign(static_cast<std::size_t>(map.rows * map.columns), 0);
  return map;
}

void ErrorMap::note(std::int64_t row, std::int64_t column, double ratio) {
  double& worst = ratios[static_cast<std::size_t>(row / cell_rows * columns + column / cell_columns)];
  worst = std::max(worst, ratio);
}

void ErrorMap::add(const ErrorMap& other) {
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = std::max(ratios[i], other.ratios[i]);
}

ErrorMap map_errors(const Tensor& got, const Value& want, const Contract& contract) {
  ErrorMap map;
  if (got.elements() != want.size() || want.size() == 0) return map;
  map = ErrorMap::over(want.rows, want.cols);
  const BlockReader reader(got, want, wants_bits(contract));
  const ElementKernel kernel(contract, want.size());
  const ElementScreen screen(contract, kernel);
  // Bands of rows, so that threads share the work; the largest of all does not depend on who found it.
  constexpr std::int64_t band = 64;
  const std::int64_t bands = cells_of(want.rows, band), units = bands * want.batch;
#pragma omp parallel for schedule(dynamic) if (want.size() > 65536)
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const std::int64_t row = unit % bands * band;
    const Rectangle area{unit / bands, row, 0, std::min(band, want.rows - row), want.cols};
    const UnitResult part = pass_over(reader, kernel, screen, contract, want, area, {}, true);
#pragma omp critical(parity_error_map)
    map.add(part.map);
  }
  for (double& ratio : map.ratios) ratio = three_digits(ratio);
  return map;
}

std::vector<double> predicted_ulp_histogram(const Value& want, const Contract& contract) {
  if (wants_bits(contract) || !want.tracked() || want.variance.empty() || want.size() == 0) return {};
  static const NormalQuantiles normal;
  const StoreGrid grid = StoreGrid::of(contract.store);
  constexpr std::int64_t most = 1024;
  const std::int64_t sampled = std::min(want.size(), most);
  std::vector<double> bins(49, 0);
  double weight = 0;
  for (std::int64_t n = 0; n < sampled; ++n) {
    // Multiples of the golden ratio fall evenly on rows and columns whatever the width.
    const double turn = static_cast<double>(n) * 0.6180339887498949;
    const std::int64_t index =
        sampled == want.size()
            ? n
            : static_cast<std::int64_t>((turn - std::floor(turn)) * static_cast<double>(want.size()));
    const double v = want.v[static_cast<std::size_t>(index)];
    const double x = v + at_or_zero(want.mean, index), variance = at_or_zero(want.variance, index);
    if (!(std::fabs(x) < 0x1p900) || !(variance >= 0) || !(variance < 0x1p900)) continue;
    const double sigma = std::sqrt(variance), spacing = grid::ulp(grid, v);
    for (const double z : normal.phase(static_cast<std::size_t>(n))) {
      const double ulps = std::fabs(stored(grid, x + sigma * z, contract) - v) / spacing;
      ++bins[ulps > 0 ? static_cast<std::size_t>(std::clamp(std::ilogb(ulps) + 17, 1, 48)) : 0];
      ++weight;
    }
  }
  if (weight == 0) return {};
  for (double& bin : bins) bin = three_digits(bin * static_cast<double>(want.size()) / weight);
  return bins;
}

}  // namespace parity
