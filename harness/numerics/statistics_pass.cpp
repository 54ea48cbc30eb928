#include "harness/numerics/statistics_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/numerics/unit_pass.hpp"

namespace parity {
namespace {

constexpr std::int64_t tile = Measurement::tile;

/// Rectangles of whole 16x16 tiles, a pure function of the shape.
struct Partition {
  std::int64_t batch, rows, columns;
  std::int64_t unit_rows, unit_columns, row_units, column_units;

  explicit Partition(const Value& want) : batch(want.batch), rows(want.rows), columns(want.cols) {
    constexpr std::int64_t widest = 1024;
    unit_columns = std::clamp<std::int64_t>(columns, 1, widest);
    const std::int64_t elements = std::max<std::int64_t>(want.size() / 128, 32768);
    unit_rows = std::max<std::int64_t>(elements / unit_columns / tile * tile, tile);
    row_units = (rows + unit_rows - 1) / unit_rows;
    column_units = (columns + unit_columns - 1) / unit_columns;
  }
  std::int64_t units() const { return batch * row_units * column_units; }
};

struct Unit {
  Rectangle area;
  std::int64_t row_unit = 0, column_unit = 0;
};

Unit unit_at(const Partition& p, std::int64_t number) {
  Unit unit;
  unit.column_unit = number % p.column_units;
  unit.row_unit = number / p.column_units % p.row_units;
  Rectangle& r = unit.area;
  r.batch = number / (p.column_units * p.row_units);
  r.row = unit.row_unit * p.unit_rows;
  r.column = unit.column_unit * p.unit_columns;
  r.rows = std::min(p.unit_rows, p.rows - r.row);
  r.columns = std::min(p.unit_columns, p.columns - r.column);
  return unit;
}

std::size_t to_size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Aggregate sums while the rectangles work: rows in one copy per column of rectangles, columns in one copy
/// per row of rectangles, so that no two rectangles share a slot.
class AggregateStore {
 public:
  AggregateStore(const Partition& p, Measurement& m) : p_(p), m_(m) {
    m.tile_rows = (p.rows + tile - 1) / tile;
    m.tile_columns = (p.columns + tile - 1) / tile;
    constexpr std::int64_t least = 4;
    if (p.columns >= least) {
      rows_.resize(to_size(p.column_units * p.batch * p.rows));
      vectors_.resize(rows_.size());
    }
    if (p.rows >= least) {
      columns_.resize(to_size(p.row_units * p.batch * p.columns));
      m.tiles.resize(to_size(p.batch * m.tile_rows * m.tile_columns));
    }
  }

  AggregateSlots slots(const Unit& unit) {
    AggregateSlots s;
    const Rectangle& a = unit.area;
    if (!rows_.empty()) {
      const std::size_t at = to_size((unit.column_unit * p_.batch + a.batch) * p_.rows + a.row);
      s.rows = rows_.data() + at;
      s.row_vectors = vectors_.data() + at;
    }
    if (!columns_.empty()) {
      s.bands = true;
      s.columns = columns_.data() + (unit.row_unit * p_.batch + a.batch) * p_.columns + a.column;
      s.tiles = m_.tiles.data() + (a.batch * m_.tile_rows + a.row / tile) * m_.tile_columns + a.column / tile;
      s.tile_stride = m_.tile_columns;
    }
    return s;
  }

  /// Adds the copies up, in their order; returns the worst row's cosine.
  void merge(double& cosine_worst_row) {
    fold(rows_, p_.batch * p_.rows, m_.rows);
    fold(columns_, p_.batch * p_.columns, m_.columns);
    std::vector<VectorSums> vectors;
    fold(vectors_, p_.batch * p_.rows, vectors);
    for (const VectorSums& v : vectors) cosine_worst_row = std::min(cosine_worst_row, v.cosine());
  }

 private:
  template <class Sums>
  static void fold(std::vector<Sums>& copies, std::int64_t length, std::vector<Sums>& out) {
    if (copies.empty()) return;
    for (std::size_t i = to_size(length); i < copies.size(); ++i) copies[i % to_size(length)].add(copies[i]);
    copies.resize(to_size(length));
    out = std::move(copies);
  }

  const Partition& p_;
  Measurement& m_;
  std::vector<ScopeSums> rows_, columns_;
  std::vector<VectorSums> vectors_;
};

/// The sums over all rectangles, before they become figures.
struct Totals {
  double max_ulps = 0, error_square = 0, error_signed = 0, error_absolute = 0, zeros = 0;
  std::int64_t taken_out = 0;
  VectorSums vectors;
  UlpHistogram histogram;
  WorstList worst;
};

void add(Totals& t, Measurement& m, const Rectangle& area, const UnitResult& u) {
  ErrorStatistics& s = m.statistics;
  const ErrorStatistics& part = u.statistics;
  s.nan += part.nan;
  s.inf += part.inf;
  s.unexpected_nonfinite += part.unexpected_nonfinite;
  s.missing_nan += part.missing_nan;
  s.unwritten += part.unwritten;
  s.outside_spread += part.outside_spread;
  s.outside_hard += part.outside_hard;
  s.max_abs = std::max(s.max_abs, part.max_abs);
  s.max_relative = std::max(s.max_relative, part.max_relative);
  s.max_bound_ratio = std::max(s.max_bound_ratio, part.max_bound_ratio);
  s.max_hard_ratio = std::max(s.max_hard_ratio, part.max_hard_ratio);
  t.max_ulps = std::max(t.max_ulps, u.max_ulps);
  t.error_square += u.error_square;
  t.error_signed += u.error_signed;
  t.error_absolute += u.error_absolute;
  t.zeros += u.zeros;
  t.taken_out += u.taken_out;
  t.vectors.add(u.vectors);
  t.histogram.add(u.histogram);
  for (const WorstElement& element : u.worst.list()) t.worst.offer(element);
  m.tensor.add(u.tensor);
  m.suspect_count += u.suspect_count;
  m.suspects.insert(m.suspects.end(), u.suspects.begin(), u.suspects.end());
  if (u.first_unwritten >= 0 && (m.first_unwritten < 0 || u.first_unwritten < m.first_unwritten)) {
    m.first_unwritten = u.first_unwritten;
  }
  if (u.wrong.total == 0) return;
  m.wrong.total += u.wrong.total;
  m.wrong.batches[to_size(area.batch)] += u.wrong.total;
  for (std::size_t r = 0; r < u.wrong.rows.size(); ++r)
    m.wrong.rows[to_size(area.row) + r] += u.wrong.rows[r];
  for (std::size_t c = 0; c < u.wrong.columns.size(); ++c) {
    m.wrong.columns[to_size(area.column) + c] += u.wrong.columns[c];
  }
}

double ratio_or(double numerator, double denominator) {
  if (denominator != 0) return numerator / denominator;
  return numerator == 0 ? 0 : std::numeric_limits<double>::infinity();
}

/// Quantiles of |err| in ULP from the histogram: logarithmic interpolation inside a bin (linear in the
/// lowest, which starts at zero), never above the largest error, which is exact.
std::array<double, 5> quantiles(const std::array<std::int64_t, 49>& histogram, std::int64_t count,
                                double largest) {
  std::array<double, 5> result{};
  constexpr std::array<double, 4> levels{0.5, 0.9, 0.99, 0.999};
  for (std::size_t q = 0; q < levels.size(); ++q) {
    const double rank = levels[q] * static_cast<double>(count);
    double below = 0;
    for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
      const auto here = static_cast<double>(histogram[bin]);
      if (here == 0 || below + here < rank) {
        below += here;
        continue;
      }
      const double part = (rank - below) / here;
      double value = 0;
      if (bin == 1) value = part * 0x1p-16;
      if (bin > 1) value = std::exp2(static_cast<double>(bin) - 17 + part);
      result[q] = std::min(value, largest);
      break;
    }
  }
  result[4] = largest;
  return result;
}

void finish(const Totals& t, const Partition& p, Measurement& m) {
  ErrorStatistics& s = m.statistics;
  const std::int64_t finite = s.elements - t.taken_out;
  const double n = static_cast<double>(std::max<std::int64_t>(finite, 1));
  s.zeros_want = static_cast<std::int64_t>(t.zeros) - t.taken_out;  // taken-out elements left a zero behind
  s.mean_abs = t.error_absolute / n;
  s.mean_signed = t.error_signed / n;
  s.rms = std::sqrt(t.error_square / n);
  s.relative_l2 = ratio_or(std::sqrt(t.error_square), std::sqrt(t.vectors.want_want));
  s.nmse = ratio_or(t.error_square, t.vectors.want_want);
  s.norm_ratio = t.vectors.got_got == 0 && t.vectors.want_want == 0
                     ? 1
                     : ratio_or(std::sqrt(t.vectors.got_got), std::sqrt(t.vectors.want_want));
  s.cosine = t.vectors.cosine();
  s.cosine_worst_row = std::min(s.cosine_worst_row, s.cosine);
  s.ulp_histogram = t.histogram.totals();
  s.ulp_histogram[0] -= t.taken_out;
  s.ulp_quantiles = quantiles(s.ulp_histogram, finite, t.max_ulps);
  s.worst = t.worst.list();
  for (WorstElement& w : s.worst) {
    w.batch = w.index / (p.rows * p.columns);
    w.row = w.index / p.columns % p.rows;
    w.col = w.index % p.columns;
  }
  if (!s.worst.empty()) s.max_bound_ratio = std::max(s.max_bound_ratio, s.worst.front().ratio);
  std::sort(m.suspects.begin(), m.suspects.end());
  if (m.suspects.size() > Measurement::suspect_limit) m.suspects.resize(Measurement::suspect_limit);
}

}  // namespace

Measurement measure(const Tensor& got, const Value& want, const Contract& contract) {
  Measurement m;
  m.statistics.elements = want.size();
  m.wrong.rows.resize(to_size(want.rows));
  m.wrong.columns.resize(to_size(want.cols));
  m.wrong.batches.resize(to_size(want.batch));
  if (want.size() == 0) return m;
  const Partition partition(want);
  const BlockReader reader(got, want, wants_bits(contract));
  const ElementKernel kernel(contract, want.size());
  const ElementScreen screen(contract, kernel);
  AggregateStore store(partition, m);
  std::vector<UnitResult> results(to_size(partition.units()));
  const std::int64_t units = partition.units();
#pragma omp parallel for schedule(dynamic) if (units > 1)
  for (std::int64_t number = 0; number < units; ++number) {
    const Unit unit = unit_at(partition, number);
    results[to_size(number)] =
        pass_over(reader, kernel, screen, contract, want, unit.area, store.slots(unit));
  }
  Totals totals;
  for (std::int64_t number = 0; number < units; ++number) {
    add(totals, m, unit_at(partition, number).area, results[to_size(number)]);
  }
  store.merge(m.statistics.cosine_worst_row);
  finish(totals, partition, m);
  return m;
}

ErrorStatistics compute_statistics(const Tensor& got, const Value& want, const Contract& contract) {
  return measure(got, want, contract).statistics;
}

}  // namespace parity
