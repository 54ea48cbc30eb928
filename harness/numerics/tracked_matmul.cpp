#include "harness/numerics/tracked_matmul.hpp"

#include <algorithm>
#include <cmath>

#include "harness/numerics/accumulation_error.hpp"
#include "harness/numerics/flushed_inputs.hpp"
#include "harness/numerics/matrix_product.hpp"
#include "harness/numerics/scaled_operand.hpp"
#include "harness/numerics/stretch_rounding.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

constexpr std::int64_t tile_rows = 128;
constexpr std::int64_t tile_cols = 512;
constexpr double fp64_unit = 0x1p-53;
constexpr double binade_square = 0.541;  // of 4^floor(log2 |s|) / s^2: 3 / (8 ln 2)

/// One batch entry: operands, their fp32 magnitudes and squares, and where the results go.
struct Problem {
  const AccumulationError& error;
  std::int64_t terms;
  MatrixView<double> a, b;
  ScaledOperand scaled_a, scaled_b;
  double* v;
  double* hard;
  double* systematic;
  double* mean;
  double* variance;
};

/// Thread-local arrays of one tile of outputs.
struct Workspace {
  std::vector<double> product, chain;
  std::vector<float> scaled;
};

/// A rectangle of outputs, [row, row + rows) x [col, col + cols), in matrices of `leading` columns.
struct Tile {
  std::int64_t row, col, rows, cols, leading;
};

/// Sums of magnitudes of the whole reduction into `hard` (still without factors).
void sum_magnitudes(const Problem& p, const Tile& tile, Workspace& work) {
  multiply(p.scaled_a.magnitudes().block(tile.row, 0, tile.rows, p.terms),
           p.scaled_b.magnitudes().block(0, tile.col, p.terms, tile.cols), work.scaled.data(), tile.cols,
           false);
  const ScaledMargin margin = scaled_margin(p.terms);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const double row = p.scaled_a.unscale[static_cast<std::size_t>(tile.row + i)];
    const double* cols = p.scaled_b.unscale.data() + tile.col;
    double* out = p.hard + (tile.row + i) * tile.leading + tile.col;
    const float* scaled = work.scaled.data() + i * tile.cols;
    for (std::int64_t j = 0; j < tile.cols; ++j) {
      out[j] = (scaled[j] * margin.relative + margin.absolute) * row * cols[j];
    }
  }
}

/// One stretch: v moves from s0 to s1, variance and mean collect. Parts that restart from zero keep their
/// chain in work.chain and join v at their end.
void add_stretch(const Problem& p, const Tile& tile, const Stretch& stretch, Workspace& work) {
  const AccumulationError& error = p.error;
  const std::int64_t n = stretch.end - stretch.begin;
  multiply(p.a.block(tile.row, stretch.begin, tile.rows, n), p.b.block(stretch.begin, tile.col, n, tile.cols),
           work.product.data(), tile.cols, false);
  multiply(p.scaled_a.squares().block(tile.row, stretch.begin, tile.rows, n),
           p.scaled_b.squares().block(stretch.begin, tile.col, n, tile.cols), work.scaled.data(), tile.cols,
           false);
  // Truncated chains of several parts in one stretch: their totals are rounded to nearest like any sum.
  const bool own_chain = error.combines_parts && stretch.chains == 0;
  const double on_total = error.unit * error.unit / 3;
  const StretchRounding stretch_rounding(error, stretch, p.terms);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t at = (tile.row + i) * tile.leading + tile.col;
    double* v = p.v + at;
    double* variance = p.variance + at;
    double* chain = own_chain ? work.chain.data() + i * tile.cols : v;
    stretch_rounding.add({tile.cols, work.product.data() + i * tile.cols, work.scaled.data() + i * tile.cols,
                          p.scaled_a.unscale[static_cast<std::size_t>(tile.row + i)],
                          p.scaled_b.unscale.data() + tile.col, p.hard + at, chain, variance, p.mean + at,
                          p.systematic + at});
    if (own_chain && stretch.ends_part) {
      for (std::int64_t j = 0; j < tile.cols; ++j) {
        v[j] += chain[j];
        chain[j] = 0;
        variance[j] += on_total * binade(v[j]) * binade(v[j]);
      }
    }
  }
}

/// From sums of magnitudes to bounds; elements that are NaN or Inf carry none.
void finish(const Problem& p, const Tile& tile) {
  const AccumulationError& error = p.error;
  const double reference_hard = std::expm1(static_cast<double>(p.terms + 16) * 1.01 * fp64_unit);
  const double hard_relative = (error.hard_relative + reference_hard) * (1 + 8 * fp64_unit);
  const double reference = binade_square * fp64_unit * fp64_unit / 9 * static_cast<double>(p.terms);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t at = (tile.row + i) * tile.leading + tile.col;
    for (std::int64_t j = at; j < at + tile.cols; ++j) {
      const double v = p.v[j];
      const bool finite = std::isfinite(v);
      p.hard[j] = finite ? p.hard[j] * hard_relative + error.hard_absolute : 0;
      p.variance[j] = finite ? p.variance[j] + reference * v * v + error.absolute_variance : 0;
      p.mean[j] = finite ? p.mean[j] + error.mean_relative * v : 0;
      p.systematic[j] =
          finite ? p.systematic[j] + error.systematic_relative * std::fabs(v) + error.systematic_absolute : 0;
    }
  }
}

void run_tile(const Problem& p, const Tile& tile, Workspace& work) {
  const auto size = static_cast<std::size_t>(tile.rows * tile.cols);
  work.product.resize(size);
  work.scaled.resize(size);
  work.chain.assign(p.error.combines_parts ? size : 0, 0);
  sum_magnitudes(p, tile, work);
  for (const Stretch& stretch : p.error.stretches) add_stretch(p, tile, stretch, work);
  finish(p, tile);
}

/// A copy of m with its rows (the reduction axis) or columns permuted, row-major.
std::vector<double> gather(const MatrixView<double>& m, const std::vector<std::int64_t>& rows,
                           const std::vector<std::int64_t>& cols) {
  std::vector<double> out(static_cast<std::size_t>(m.rows * m.cols));
  for_each_element(m.rows, [&](std::int64_t i) {
    const std::int64_t from = rows.empty() ? i : rows[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < m.cols; ++j) {
      out[static_cast<std::size_t>(i * m.cols + j)] =
          m(from, cols.empty() ? j : cols[static_cast<std::size_t>(j)]);
    }
  });
  return out;
}

void run(const AccumulationError& error, MatrixView<double> a, MatrixView<double> b, Value& c,
         std::int64_t batch) {
  std::vector<double> permuted_a, permuted_b;
  if (!error.permutation.empty()) {
    permuted_a = gather(a, {}, error.permutation);
    permuted_b = gather(b, error.permutation, {});
    a = view(permuted_a.data(), a.rows, a.cols, false);
    b = view(permuted_b.data(), b.rows, b.cols, false);
  }
  const std::int64_t at = batch * c.rows * c.cols;
  const Problem problem{error,
                        a.cols,
                        a,
                        b,
                        scale_rows(a),
                        scale_cols(b),
                        c.v.data() + at,
                        c.hard.data() + at,
                        c.systematic.data() + at,
                        c.mean.data() + at,
                        c.variance.data() + at};
  const std::int64_t down = (c.rows + tile_rows - 1) / tile_rows;
  const std::int64_t across = (c.cols + tile_cols - 1) / tile_cols;
#pragma omp parallel if (worth_threads(a.rows, b.cols, a.cols))
  {
    Workspace work;
#pragma omp for collapse(2) schedule(dynamic)
    for (std::int64_t i = 0; i < down; ++i) {
      for (std::int64_t j = 0; j < across; ++j) {
        const std::int64_t row = i * tile_rows;
        const std::int64_t col = j * tile_cols;
        run_tile(problem,
                 {row, col, std::min(tile_rows, c.rows - row), std::min(tile_cols, c.cols - col), c.cols},
                 work);
      }
    }
  }
  if (error.unnormalised_below > 0) {
    add_unnormalised_inputs(a, b, error.unnormalised_below, error.hard_relative, c.v.data() + at,
                            c.hard.data() + at, c.systematic.data() + at);
  }
  if (error.flush_inputs_below > 0) {
    add_flushed_inputs(a, b, error.flush_inputs_below, c.v.data() + at, c.hard.data() + at,
                       c.systematic.data() + at);
  }
}

}  // namespace

Value tracked_matmul(const ArithmeticModel& model, const Value& a, bool transpose_a, const Value& b,
                     bool transpose_b) {
  Value c = make_value(common_batch(a, b), transpose_a ? a.cols : a.rows, transpose_b ? b.rows : b.cols);
  for (std::vector<double>* array : {&c.hard, &c.systematic, &c.mean, &c.variance}) array->resize(c.v.size());
  const AccumulationError error = accumulation_error(model, transpose_a ? a.rows : a.cols);
  if (c.size() == 0) return c;
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    run(error, view(a, a.v, batch, transpose_a), view(b, b.v, batch, transpose_b), c, batch);
  }
  return c;
}

}  // namespace parity
