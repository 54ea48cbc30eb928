#include "harness/numerics/error_location.hpp"

#include <fmt/format.h>

#include <bit>
#include <numeric>
#include <optional>
#include <span>

namespace parity {
namespace {

/// The rows (or columns, or batches) that hold wrong elements.
struct Axis {
  std::int64_t size = 0, touched = 0, first = -1, last = -1;
  std::int64_t step = 0;  ///< greatest common divisor of the distances between them

  explicit Axis(std::span<const std::int64_t> counts) : size(static_cast<std::int64_t>(counts.size())) {
    for (std::int64_t i = 0; i < size; ++i) {
      if (counts[static_cast<std::size_t>(i)] == 0) continue;
      ++touched;
      if (first < 0) first = i;
      last = i;
      step = std::gcd(step, i - first);
    }
  }
  std::int64_t length() const { return last - first + 1; }
  bool whole() const { return touched == size; }
  /// Most of the range: a fault leaves some elements right by chance.
  bool dense() const { return 2 * touched > length(); }
  bool spans_most() const { return 2 * touched > size; }
  /// Largest power of two that divides all distances: the period of a lattice of at least three lines.
  std::int64_t period() const {
    return touched < 3 ? 1
                       : static_cast<std::int64_t>(std::uint64_t{1}
                                                   << std::countr_zero(static_cast<std::uint64_t>(step)));
  }
  /// Everything wrong lies beyond the last multiple of a tile size: of those sizes, the one whose tail fits
  /// closest, and of equals the largest.
  std::optional<std::int64_t> tail_of() const {
    std::optional<std::int64_t> best;
    std::int64_t best_start = 0;
    for (std::int64_t tile = 128; tile >= 4; tile /= 2) {
      const std::int64_t start = size / tile * tile;
      if (start > best_start && start < size && first >= start) best = tile, best_start = start;
    }
    return best;
  }
};

std::string lines(std::string_view one, std::string_view many, const Axis& axis) {
  if (axis.touched == 1) return fmt::format("{} {}", one, axis.first);
  if (const auto tile = axis.tail_of(); tile && axis.dense()) {
    return fmt::format("the tail {} {}..{} (beyond the last multiple of {})", many, axis.first, axis.last,
                       *tile);
  }
  if (axis.period() > 1)
    return fmt::format("{} that are {} mod {}", many, axis.first % axis.period(), axis.period());
  return fmt::format("{} {}..{}", many, axis.first, axis.last);
}

/// Smallest aligned square of 8 to 128 that holds the bounding box.
std::optional<std::int64_t> tile_around(const Axis& rows, const Axis& columns) {
  for (std::int64_t tile = 8; tile <= 128; tile *= 2) {
    if (rows.first / tile == rows.last / tile && columns.first / tile == columns.last / tile) return tile;
  }
  return std::nullopt;
}

std::string pattern_of(const Axis& rows, const Axis& columns, const Axis& batches, std::int64_t wrong) {
  const std::int64_t box = rows.touched * columns.touched * batches.touched;
  const double filled = static_cast<double>(wrong) / static_cast<double>(box);
  if (wrong == rows.size * columns.size * batches.size) return "all elements";
  if (rows.touched == 1 && columns.touched == 1) return "one element";
  if (filled < 0.25) {
    // A lattice of border lines covers few elements of its rows x columns only when other lines cross it.
    return "scattered";
  }
  const bool all_rows = rows.spans_most() && rows.dense(),
             all_columns = columns.spans_most() && columns.dense();
  if (all_rows && all_columns && rows.period() == 1 && columns.period() == 1) {
    if (rows.size > 1 && columns.size > 1) {
      return fmt::format(
          "nearly all elements ({:.0f} %)",
          100 * static_cast<double>(wrong) / static_cast<double>(rows.size * columns.size * batches.touched));
    }
  }
  if (rows.touched == 1 && (all_columns || columns.size == 1)) return lines("row", "rows", rows);
  if (columns.touched == 1 && (all_rows || rows.size == 1)) return lines("column", "columns", columns);
  if (all_columns && (rows.dense() || rows.period() > 1)) return lines("row", "rows", rows);
  if (all_rows && (columns.dense() || columns.period() > 1)) return lines("column", "columns", columns);
  if (rows.dense() && columns.dense()) {
    if (const auto tile = tile_around(rows, columns); tile && rows.touched > 1 && columns.touched > 1) {
      return fmt::format("tile at ({}, {}), {}x{}", rows.first / *tile * *tile, columns.first / *tile * *tile,
                         *tile, *tile);
    }
  }
  if ((rows.dense() || rows.period() > 1) && (columns.dense() || columns.period() > 1)) {
    return fmt::format("{} of {}", lines("column", "columns", columns), lines("row", "rows", rows));
  }
  return "scattered";
}

}  // namespace

ErrorLocation locate(const WrongMarginals& wrong) {
  ErrorLocation location;
  location.wrong = wrong.total;
  if (wrong.total == 0) {
    location.pattern = "none";
    return location;
  }
  const Axis rows(wrong.rows), columns(wrong.columns), batches(wrong.batches);
  location.first_row = rows.first, location.last_row = rows.last;
  location.first_col = columns.first, location.last_col = columns.last;
  location.first_batch = batches.first, location.last_batch = batches.last;
  location.pattern = pattern_of(rows, columns, batches, wrong.total);
  if (batches.size > 1 && location.pattern != "all elements") {
    if (batches.touched == 1) {
      location.pattern += fmt::format(" of batch {}", batches.first);
    } else {
      location.pattern += fmt::format(" in {} of {} batches", batches.touched, batches.size);
    }
  }
  return location;
}

}  // namespace parity
