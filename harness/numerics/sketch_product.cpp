#include "harness/numerics/sketch_product.hpp"

#include <algorithm>
#include <cmath>

#include "harness/numerics/matrix_product.hpp"

namespace parity {
namespace {

constexpr std::int64_t panel = 64;
constexpr std::int64_t leading = sketch_chunk + 8;  // rows of a tile do not meet in the same cache set
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What one panel of rows adds to the figures of the whole.
struct Totals {
  std::int64_t nonfinite = 0;
  double largest = 0, smallest = infinity;
};

void add_product(const MatrixView<double>& tile, const Sketch& sketch, std::int64_t from, double* out) {
  if (sketch.count == 0) return;
  const MatrixView<double> part{sketch.values.data() + from * sketch.count, tile.cols, sketch.count,
                                sketch.count, 1};
  multiply(tile, part, out, sketch.count, true);
}

template <class Sum>
class PanelProduct {
 public:
  PanelProduct(const StoredMatrix& matrix, const Sketch& sketch, const Sketch& magnitudes,
               const Sketch& squares, SketchProduct<Sum>& out)
      : matrix_(matrix), sketch_(sketch), magnitudes_(magnitudes), squares_(squares), out_(out) {}

  Totals run(std::int64_t first, std::int64_t rows) {
    tile_.resize(static_cast<std::size_t>(panel * leading));
    for (std::int64_t col = 0; col < matrix_.cols; col += sketch_chunk)
      add_chunk(first, rows, col, std::min(sketch_chunk, matrix_.cols - col));
    return totals_;
  }

 private:
  static constexpr bool integers = std::is_same_v<Sum, std::int64_t>;

  void add_chunk(std::int64_t first, std::int64_t rows, std::int64_t col, std::int64_t count) {
    read_tile(matrix_, first, col, rows, count, tile_.data(), leading);
    note_elements(rows, count);
    const MatrixView<double> tile{tile_.data(), rows, count, leading, 1};
    const std::int64_t at = first * sketch_.count;
    if constexpr (integers) {
      chunk_.assign(static_cast<std::size_t>(rows * sketch_.count), 0);
      add_product(tile, sketch_, col, chunk_.data());
      for (std::size_t i = 0; i < chunk_.size(); ++i)
        out_.product[static_cast<std::size_t>(at) + i] += static_cast<std::int64_t>(chunk_[i]);
      return;
    } else {
      add_product(tile, sketch_, col, out_.product.data() + at);
    }
    for (double& x : tile_) x = std::fabs(x);
    if (magnitudes_.count > 0)
      add_product(tile, magnitudes_, col, out_.magnitudes.data() + first * magnitudes_.count);
    for (double& x : tile_) x *= x;
    if (squares_.count > 0) add_product(tile, squares_, col, out_.squares.data() + first * squares_.count);
  }

  void note_elements(std::int64_t rows, std::int64_t count) {
    for (std::int64_t i = 0; i < rows; ++i) {
      double largest = 0, smallest = infinity;
      std::int64_t nonfinite = 0;
      const double* row = tile_.data() + i * leading;
      for (std::int64_t j = 0; j < count; ++j) {
        const double m = std::fabs(row[j]);
        nonfinite += !(m < infinity);
        largest = m > largest ? m : largest;
        const double nonzero = m > 0 ? m : infinity;
        smallest = nonzero < smallest ? nonzero : smallest;
      }
      totals_.nonfinite += nonfinite;
      totals_.largest = std::max(totals_.largest, largest);
      totals_.smallest = std::min(totals_.smallest, smallest);
    }
  }

  const StoredMatrix& matrix_;
  const Sketch &sketch_, &magnitudes_, &squares_;
  SketchProduct<Sum>& out_;
  std::vector<double> tile_, chunk_;
  Totals totals_;
};

}  // namespace

template <class Sum>
SketchProduct<Sum> sketch_product(const StoredMatrix& matrix, const Sketch& sketch, const Sketch& magnitudes,
                                  const Sketch& squares) {
  SketchProduct<Sum> out;
  out.product.resize(static_cast<std::size_t>(matrix.rows * sketch.count));
  out.magnitudes.resize(static_cast<std::size_t>(matrix.rows * magnitudes.count));
  out.squares.resize(static_cast<std::size_t>(matrix.rows * squares.count));
  const std::int64_t panels = (matrix.rows + panel - 1) / panel;
  std::vector<Totals> totals(static_cast<std::size_t>(panels));
#pragma omp parallel for schedule(dynamic) if (worth_threads(matrix.rows, sketch.count, matrix.cols))
  for (std::int64_t p = 0; p < panels; ++p) {
    PanelProduct<Sum> work(matrix, sketch, magnitudes, squares, out);
    totals[static_cast<std::size_t>(p)] = work.run(p * panel, std::min(panel, matrix.rows - p * panel));
  }
  for (const Totals& t : totals) {
    out.nonfinite += t.nonfinite;
    out.largest = std::max(out.largest, t.largest);
    out.smallest = std::min(out.smallest, t.smallest);
  }
  return out;
}

template SketchProduct<double> sketch_product(const StoredMatrix&, const Sketch&, const Sketch&,
                                              const Sketch&);
template SketchProduct<std::int64_t> sketch_product(const StoredMatrix&, const Sketch&, const Sketch&,
                                                    const Sketch&);

}  // namespace parity
