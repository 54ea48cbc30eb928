#include "harness/numerics/segment_sums.hpp"

#include <algorithm>
#include <cmath>

#include "harness/numerics/store_grid.hpp"
#include "harness/numerics/vector_lanes.hpp"
#include "harness/tensor/random.hpp"

namespace parity {
namespace {

using simd::D4;
using simd::L4;

constexpr std::int64_t panel = 64;
constexpr std::int64_t leading = segment_chunk + 8;  // rows of a tile do not meet in the same cache set
constexpr double infinity = std::numeric_limits<double>::infinity();

double total(D4 v) {
  return (v[0] + v[1]) + (v[2] + v[3]);
}

double dot(const double* row, const double* x, std::int64_t count) {
  D4 sum{};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) sum += simd::load<D4>(row + i) * simd::load<D4>(x + i);
  double rest = 0;
  for (; i < count; ++i) rest += row[i] * x[i];
  return total(sum) + rest;
}

struct RowSums {
  double magnitudes = 0, squares = 0, ulp_squares = 0, largest = 0, smallest = infinity;
};

/// Everything about one chunk of a row that is no dot product. Sums that are not finite say that an element
/// is not.
RowSums sums_of(const double* row, std::int64_t count, const StoreGrid* grid) {
  RowSums out;
  D4 magnitudes{}, squares{}, ulps{}, largest{};
  D4 smallest = simd::fill(infinity);
  const D4 floor = simd::fill(grid != nullptr ? grid->smallest_power : 0);
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const D4 v = simd::load<D4>(row + i);
    const D4 m = simd::magnitude(v);
    magnitudes += m;
    squares += v * v;
    largest = simd::larger(m, largest);
    const D4 nonzero = simd::where(m == simd::fill(0.0), simd::fill(infinity)) + m;
    smallest = simd::smaller(nonzero, smallest);
    if (grid != nullptr) {
      const D4 power = simd::larger(
          reinterpret_cast<D4>(reinterpret_cast<L4>(v) & std::int64_t{0x7ff0000000000000}), floor);
      ulps += power * power;
    }
  }
  out.magnitudes = total(magnitudes), out.squares = total(squares), out.ulp_squares = total(ulps);
  out.largest = std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
  out.smallest = std::min(std::min(smallest[0], smallest[1]), std::min(smallest[2], smallest[3]));
  for (; i < count; ++i) {
    const double m = std::fabs(row[i]);
    out.magnitudes += m, out.squares += m * m, out.largest = std::max(out.largest, m);
    if (m > 0) out.smallest = std::min(out.smallest, m);
    if (grid != nullptr) {
      const double power = std::max(grid::power_below(m), grid->smallest_power);
      out.ulp_squares += power * power;
    }
  }
  if (grid != nullptr) out.ulp_squares *= grid->ulp_scale * grid->ulp_scale;
  return out;
}

/// Scales the chunk and says whether all of it are integers within the limit. Adding and subtracting 1.5 *
/// 2^52 rounds to an integer.
bool to_integers(double* row, std::int64_t count, double scale) {
  constexpr double magic = 0x1.8p52;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    row[i] *= scale;
    const double whole = (row[i] + magic) - magic;
    wrong |= static_cast<std::int64_t>(whole != row[i]) | static_cast<std::int64_t>(row[i] > integer_limit) |
             static_cast<std::int64_t>(row[i] < -integer_limit);
  }
  return wrong == 0;
}

/// Sums of one panel of rows.
template <class Sum>
class Panel {
 public:
  Panel(const StoredMatrix& matrix, const Segments& segments, const RandomSigns& signs,
        const ElementChecks& checks, SegmentSums<Sum>& out)
      : matrix_(matrix), segments_(segments), signs_(signs), checks_(checks), out_(out) {}

  std::int64_t nonfinite = 0, not_integer = 0;
  double largest = 0, smallest = infinity;
  std::vector<std::int64_t> odd_rows;

  void run(std::int64_t first, std::int64_t rows) {
    tile_.resize(static_cast<std::size_t>(panel * leading));
    for (std::int64_t s = 0; s < segments_.count(); ++s) {
      const std::int64_t end = segments_.begin(s) + segments_.size(s);
      for (std::int64_t col = segments_.begin(s); col < end; col += segment_chunk) {
        const std::int64_t count = std::min(segment_chunk, end - col);
        read_tile(matrix_, first, col, rows, count, tile_.data(), leading);
        for (std::int64_t i = 0; i < rows; ++i)
          add_chunk(tile_.data() + i * leading, first + i, s, col, count);
      }
    }
    std::ranges::sort(odd_rows);
    odd_rows.erase(std::unique(odd_rows.begin(), odd_rows.end()), odd_rows.end());
  }

 private:
  static constexpr bool integers = std::is_same_v<Sum, std::int64_t>;

  void add_chunk(double* row, std::int64_t index, std::int64_t segment, std::int64_t col,
                 std::int64_t count) {
    if constexpr (integers)
      if (!to_integers(row, count, checks_.integer_scale)) drop_odd(row, index, count);
    RowSums sums = sums_of(row, count, checks_.ulps ? &grid_ : nullptr);
    if (!(sums.magnitudes < infinity)) {
      drop_odd(row, index, count);
      sums = sums_of(row, count, checks_.ulps ? &grid_ : nullptr);
    }
    const auto at = static_cast<std::size_t>(index * segments_.count() + segment);
    out_.magnitudes[at] += sums.magnitudes;
    out_.squares[at] += sums.squares;
    if (checks_.ulps) out_.ulp_squares[at] += sums.ulp_squares;
    largest = std::max(largest, sums.largest);
    smallest = std::min(smallest, sums.smallest);
    for (int v = 0; v < signs_.vectors; ++v)
      out_.dots[at * static_cast<std::size_t>(signs_.vectors) + static_cast<std::size_t>(v)] +=
          static_cast<Sum>(dot(row, signs_[v] + col, count));
  }

  /// Zero in place of what cannot be summed.
  void drop_odd(double* row, std::int64_t index, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const bool finite = std::isfinite(row[i]);
      const bool whole = finite && std::nearbyint(row[i]) == row[i] && std::fabs(row[i]) <= integer_limit;
      if (finite && (whole || !integers)) continue;
      row[i] = 0;
      nonfinite += !finite;
      not_integer += finite;
      odd_rows.push_back(index);
    }
  }

  const StoredMatrix& matrix_;
  const Segments& segments_;
  const RandomSigns& signs_;
  const ElementChecks& checks_;
  SegmentSums<Sum>& out_;
  StoreGrid grid_ = StoreGrid::of(checks_.dtype);
  std::vector<double> tile_;
};

}  // namespace

RandomSigns random_signs(std::int64_t n, int vectors, std::uint64_t seed) {
  constexpr std::uint64_t purpose = 0x66726569;  // "frei": a counter of its own
  RandomSigns signs{n, vectors, std::vector<double>(static_cast<std::size_t>(n * vectors))};
  for (int v = 0; v < vectors; ++v) {
    double* out = signs.x.data() + v * n;
    for (std::int64_t j = 0; j < n; j += 128) {
      const PhiloxBlock block =
          philox(seed, static_cast<std::uint64_t>(j / 128), purpose << 32 | static_cast<std::uint32_t>(v));
      for (std::int64_t i = 0; i < std::min<std::int64_t>(128, n - j); ++i)
        out[j + i] = (block.word[i / 32] >> (i % 32) & 1) != 0 ? 1 : -1;
    }
  }
  return signs;
}

template <class Sum>
SegmentSums<Sum> segment_sums(const StoredMatrix& matrix, const Segments& segments, const RandomSigns& signs,
                              const ElementChecks& checks) {
  SegmentSums<Sum> out;
  const auto cells = static_cast<std::size_t>(matrix.rows * segments.count());
  out.dots.resize(cells * static_cast<std::size_t>(signs.vectors));
  out.magnitudes.resize(cells), out.squares.resize(cells);
  if (checks.ulps) out.ulp_squares.resize(cells);
  const std::int64_t panels = (matrix.rows + panel - 1) / panel;
#pragma omp parallel for schedule(dynamic) if (matrix.rows * matrix.cols > 65536)
  for (std::int64_t p = 0; p < panels; ++p) {
    Panel<Sum> work(matrix, segments, signs, checks, out);
    work.run(p * panel, std::min(panel, matrix.rows - p * panel));
#pragma omp critical
    {
      out.nonfinite += work.nonfinite, out.not_integer += work.not_integer;
      out.largest = std::max(out.largest, work.largest);
      out.smallest = std::min(out.smallest, work.smallest);
      out.odd_rows.insert(out.odd_rows.end(), work.odd_rows.begin(), work.odd_rows.end());
    }
  }
  std::ranges::sort(out.odd_rows);
  return out;
}

template SegmentSums<double> segment_sums(const StoredMatrix&, const Segments&, const RandomSigns&,
                                          const ElementChecks&);
template SegmentSums<std::int64_t> segment_sums(const StoredMatrix&, const Segments&, const RandomSigns&,
                                                const ElementChecks&);

}  // namespace parity
