#include "harness/numerics/unit_pass.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "harness/numerics/lane_sums.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

constexpr std::int64_t tile = Measurement::tile;
constexpr std::int64_t fewest_to_screen = 16;

inline bool not_finite(double x) {
  return (std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000ULL) == 0x7ff0000000000000ULL;
}
inline bool is_nan_bits(double x) {
  return (std::bit_cast<std::uint64_t>(x) << 1) > 0xffe0000000000000ULL;
}

/// Works through one rectangle. Everything it learns goes into its own UnitResult; the aggregate sums go to
/// slots that only this rectangle writes.
class UnitPass {
 public:
  UnitPass(const BlockReader& reader, const ElementKernel& kernel, const ElementScreen& screen,
           const Contract& contract, const Value& want, const Rectangle& area, AggregateSlots slots,
           bool mapped)
      : reader_(reader),
        kernel_(kernel),
        screen_(screen),
        want_(want),
        area_(area),
        slots_(slots),
        poison_(poison_bits(contract.store, Poison::unwritten)),
        integer_(contract.store == DType::i32),
        // Short rows are judged several at a time, without the screen, which works row by row. It relies on
        // results that lie on the store's grid.
        screened_(!mapped && area.columns >= fewest_to_screen && reader.dtype() == contract.store),
        block_(std::make_unique<ElementBlock>()),
        scratch_(screened_ ? std::make_unique<ElementScreen::Scratch>() : nullptr),
        band_(static_cast<std::size_t>(area.columns)) {
    result_.wrong.rows.assign(static_cast<std::size_t>(area.rows), 0);
    result_.wrong.columns.assign(static_cast<std::size_t>(area.columns), 0);
    if (mapped) result_.map = ErrorMap::over(want.rows, want.cols);
  }

  UnitResult run() {
    constexpr auto capacity = static_cast<std::int64_t>(ElementBlock::capacity);
    // Narrow matrices: several whole rows share a block. Their elements are adjacent.
    const bool whole_rows = area_.columns == want_.cols;
    const std::int64_t rows_at_once =
        whole_rows && !screened_ ? std::clamp<std::int64_t>(capacity / area_.columns, 1, area_.rows) : 1;
    std::int64_t row = 0;
    while (row < area_.rows) {
      const std::int64_t band_end = std::min(row / tile * tile + tile, area_.rows);
      const std::int64_t rows = std::min(rows_at_once, slots_.bands ? band_end - row : area_.rows - row);
      if (rows > 1) {
        block(row, rows, 0, area_.columns);
      } else {
        for (std::int64_t c = 0; c < area_.columns; c += capacity) {
          block(row, 1, c, std::min(capacity, area_.columns - c));
        }
      }
      row += rows;
      if (slots_.bands && (row % tile == 0 || row == area_.rows)) finish_band((row - 1) / tile);
    }
    return std::move(result_);
  }

 private:
  void block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    const std::int64_t index =
        (area_.batch * want_.rows + area_.row + row) * want_.cols + area_.column + column;
    if (screened_ && screen(row, column, index, static_cast<std::size_t>(columns))) return;
    const auto count = static_cast<std::size_t>(rows * columns);
    ElementBlock& b = *block_;
    reader_.load(b, index, count);
    take_out_non_finite(index, count);
    kernel_.evaluate(b, count);
    gather(index, count);
    for (std::int64_t r = 0; r < rows; ++r) {
      aggregate(row + r, column, static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns));
    }
  }

  /// One row's elements, the cheap way: only what the screen leaves unsettled is computed exactly. False
  /// where something is not finite; nothing has been counted then.
  bool screen(std::int64_t row, std::int64_t column, std::int64_t index, std::size_t count) {
    ElementBlock& b = *block_;
    ErrorStatistics& s = result_.statistics;
    ElementRun run = reader_.run(b, index, count, offsets_);
    offsets_ = run.offsets;
    const auto columns = static_cast<std::int64_t>(count);
    run.next = column + columns < area_.columns ? columns : row + 1 < area_.rows ? want_.cols - column : 0;
    RunSums sums;
    const auto first_column = static_cast<std::size_t>(column);
    if (!screen_.look(run, {result_.worst.threshold(), s.max_hard_ratio, s.max_relative}, *scratch_, sums,
                      result_.histogram, slots_.bands ? &band_ : nullptr, first_column)) {
      return false;
    }
    s.max_abs = std::max(s.max_abs, sums.max_abs);
    result_.max_ulps = std::max(result_.max_ulps, sums.max_ulps);
    result_.zeros += static_cast<double>(sums.zeros);
    result_.error_square += sums.error_square;
    result_.error_signed += sums.error_signed;
    result_.error_absolute += sums.error_absolute;

    const std::size_t unsettled = collect_unsettled(run);
    ScopeSums scope = scratch_->row;
    if (unsettled > 0) {
      kernel_.evaluate(b, unsettled);
      judge(unsettled, [&](std::size_t i) { return index + static_cast<std::int64_t>(places_[i]); });
      for (std::size_t i = 0; i < unsettled; ++i) {
        const ScopeSums one{b.counts[i], b.z[i], b.z_outward[i], b.z_square[i]};
        scope.add(one);
        if (slots_.bands) band_.add(first_column + places_[i], one);
      }
    }
    add_row(row, scope, sums.vectors);
    return true;
  }

  /// Moves the unsettled elements to the front of the block, in order. `run.got` may be the block's own: an
  /// element never moves back.
  std::size_t collect_unsettled(const ElementRun& run) {
    ElementBlock& b = *block_;
    std::size_t n = 0;
    for (std::size_t g = 0; 8 * g < run.count; ++g) {
      for (unsigned bits = scratch_->unsettled[g]; bits != 0; bits &= bits - 1) {
        const std::size_t i = 8 * g + static_cast<std::size_t>(std::countr_zero(bits));
        places_[n] = static_cast<std::uint16_t>(i);
        b.got[n] = run.got[i], b.v[n] = run.v[i], b.hard[n] = run.hard[i];
        b.systematic[n] = run.systematic[i], b.mean[n] = run.mean[i], b.variance[n] = run.variance[i];
        ++n;
      }
    }
    for (std::size_t i = n; i < (n + 7) / 8 * 8; ++i) {
      b.got[i] = b.v[i] = b.hard[i] = b.systematic[i] = b.mean[i] = b.variance[i] = 0;
    }
    return n;
  }

  /// NaN and infinities are judged here, one by one, and leave zeros behind: no sum sees them.
  void take_out_non_finite(std::int64_t index, std::size_t count) {
    ElementBlock& b = *block_;
    std::uint64_t special = 0;
    for (std::size_t i = 0; i < count; ++i) {
      special |=
          static_cast<std::uint64_t>(not_finite(b.got[i])) | static_cast<std::uint64_t>(not_finite(b.v[i]));
    }
    if (special == 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (!not_finite(b.got[i]) && !not_finite(b.v[i])) continue;
      judge_non_finite(index + static_cast<std::int64_t>(i), i);
      ++result_.taken_out;
      b.got[i] = b.v[i] = b.hard[i] = b.systematic[i] = b.mean[i] = b.variance[i] = 0;
    }
  }

  void judge_non_finite(std::int64_t index, std::size_t i) {
    const ElementBlock& b = *block_;
    ErrorStatistics& s = result_.statistics;
    const double got = b.got[i], v = b.v[i];
    const bool got_nan = is_nan_bits(got), want_nan = is_nan_bits(v);
    s.nan += got_nan;
    s.inf += not_finite(got) && !got_nan;
    if (!integer_ && got_nan && reader_.bits(index) == poison_) {
      note_unwritten(index);
      return wrong(index, got, v, true);
    }
    if (want_nan) {
      if (got_nan) return;
      ++s.missing_nan;
      return wrong(index, got, v, true);
    }
    if (not_finite(v)) {
      if (!got_nan && got == v) return;
      return wrong(index, got, v, true);
    }
    const ElementLimits limits = kernel_.limits(v, b.hard[i], b.systematic[i], b.mean[i], b.variance[i]);
    const bool anything_goes = std::isinf(limits.hard_low) && std::isinf(limits.hard_high);
    if (got_nan) {
      // A NaN never lies in the expected spread. Where the accumulator may overflow either way, Inf - Inf can
      // happen: suspect, not certainly wrong.
      s.unexpected_nonfinite += !anything_goes;
      return wrong(index, got, v, !anything_goes);
    }
    if (got >= limits.low && got <= limits.high) return;
    const bool beyond = got < limits.hard_low || got > limits.hard_high;
    s.unexpected_nonfinite += beyond;
    wrong(index, got, v, beyond);
  }

  void note_unwritten(std::int64_t index) {
    ++result_.statistics.unwritten;
    if (result_.first_unwritten < 0) result_.first_unwritten = index;
  }

  void wrong(std::int64_t index, double got, double want, bool beyond) {
    mark(index, beyond);
    WorstElement element;
    element.index = index;
    element.got = got;
    element.want = want;
    element.ratio = std::numeric_limits<double>::infinity();
    element.got_bits = reader_.bits(index);
    result_.worst.offer(element);
    if (!result_.map.ratios.empty()) map_element(index, element.ratio);
  }

  void map_element(std::int64_t index, double ratio) {
    result_.map.note(index / want_.cols % want_.rows, index % want_.cols, ratio);
  }

  void mark(std::int64_t index, bool beyond) {
    const std::int64_t row = index / want_.cols % want_.rows - area_.row,
                       column = index % want_.cols - area_.column;
    ++result_.statistics.outside_spread;
    result_.statistics.outside_hard += beyond;
    ++result_.wrong.rows[static_cast<std::size_t>(row)];
    ++result_.wrong.columns[static_cast<std::size_t>(column)];
    ++result_.wrong.total;
    if (beyond) return;
    ++result_.suspect_count;
    if (result_.suspects.size() < Measurement::suspect_limit) result_.suspects.push_back(index);
  }

  /// Maxima, the histogram, wrong and worst elements.
  void gather(std::int64_t index, std::size_t count) {
    const ElementBlock& b = *block_;
    ErrorStatistics& s = result_.statistics;
    s.max_abs = std::max(s.max_abs, lanes::largest(b.error, count));
    result_.max_ulps = std::max(result_.max_ulps, lanes::largest(b.ulps, count));
    result_.zeros += lanes::sum(count, [&](std::size_t i) { return b.v[i] == 0 ? 1.0 : 0.0; });
    result_.histogram.add(b.ulps, count);
    judge(count, [index](std::size_t i) { return index + static_cast<std::int64_t>(i); });
  }

  /// Ratios, wrong and worst elements among block[0, count); index_of: from place in the block to element.
  template <class IndexOf>
  void judge(std::size_t count, const IndexOf& index_of) {
    const ElementBlock& b = *block_;
    ErrorStatistics& s = result_.statistics;
    const double worst = lanes::largest(b.ratio, count);
    s.max_bound_ratio = std::max(s.max_bound_ratio, worst);
    s.max_hard_ratio = std::max(s.max_hard_ratio, lanes::largest(b.hard_ratio, count));
    s.max_relative = std::max(s.max_relative, lanes::largest(b.relative, count));
    if (worst > 1) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!(b.ratio[i] > 1)) continue;
        mark(index_of(i), b.hard_ratio[i] > 1);
        if (integer_ && reader_.bits(index_of(i)) == poison_) note_unwritten(index_of(i));
      }
    }
    if (!result_.map.ratios.empty())
      for (std::size_t i = 0; i < count; ++i) map_element(index_of(i), b.ratio[i]);
    if (worst <= result_.worst.threshold()) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (b.ratio[i] <= result_.worst.threshold()) continue;
      WorstElement element;
      element.index = index_of(i);
      element.got = b.got[i];
      element.want = b.v[i];
      element.bound = b.bound[i];
      element.ratio = b.ratio[i];
      element.got_bits = reader_.bits(element.index);
      result_.worst.offer(element);
    }
  }

  /// Sums of one row's elements block[first, first + count), which start at `column` of the rectangle.
  void aggregate(std::int64_t row, std::int64_t column, std::size_t first, std::size_t count) {
    const ElementBlock& b = *block_;
    const double *got = b.got + first, *v = b.v + first, *error = b.error + first, *z = b.z + first;
    const double *z_outward = b.z_outward + first, *z_square = b.z_square + first, *counts = b.counts + first;
    const auto dot = [count](const double* x, const double* y) {
      return lanes::sum(count, [x, y](std::size_t i) { return x[i] * y[i]; });
    };
    const auto total = [count](const double* x) {
      return lanes::sum(count, [x](std::size_t i) { return x[i]; });
    };
    result_.error_square += dot(error, error);
    result_.error_signed += total(error);
    result_.error_absolute += lanes::sum(count, [error](std::size_t i) { return std::fabs(error[i]); });
    add_row(row, {total(counts), total(z), total(z_outward), total(z_square)},
            {dot(got, v), dot(got, got), dot(v, v)});
    if (!slots_.bands) return;
    for (std::size_t i = 0; i < count; ++i) {
      band_.add(static_cast<std::size_t>(column) + i, {counts[i], z[i], z_outward[i], z_square[i]});
    }
  }

  void add_row(std::int64_t row, const ScopeSums& sums, const VectorSums& vectors) {
    result_.vectors.add(vectors);
    result_.tensor.add(sums);
    if (slots_.rows == nullptr) return;
    slots_.rows[row].add(sums);
    slots_.row_vectors[row].add(vectors);
  }

  void finish_band(std::int64_t band) {
    band_.flush(slots_.columns, slots_.tiles + band * slots_.tile_stride);
  }

  const BlockReader& reader_;
  const ElementKernel& kernel_;
  const ElementScreen& screen_;
  const Value& want_;
  Rectangle area_;
  AggregateSlots slots_;
  std::uint64_t poison_;
  bool integer_;
  bool screened_;
  bool offsets_ = false;  ///< an offset was met: they are no longer looked for
  std::unique_ptr<ElementBlock> block_;
  std::unique_ptr<ElementScreen::Scratch> scratch_;
  std::array<std::uint16_t, ElementBlock::capacity> places_;  ///< of the unsettled elements in their run
  ColumnBand band_;
  UnitResult result_;
};

}  // namespace

UnitResult pass_over(const BlockReader& reader, const ElementKernel& kernel, const ElementScreen& screen,
                     const Contract& contract, const Value& want, const Rectangle& area,
                     const AggregateSlots& slots, bool mapped) {
  return UnitPass(reader, kernel, screen, contract, want, area, slots, mapped).run();
}

}  // namespace parity
