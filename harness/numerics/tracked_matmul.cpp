#include "harness/numerics/tracked_matmul.hpp"
#include "harness/numerics/binade_means.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/numerics/accumulation_error.hpp"
#include "harness/numerics/flushed_inputs.hpp"
#include "harness/numerics/kinship.hpp"
#include "harness/numerics/matrix_product.hpp"
#include "harness/numerics/scaled_operand.hpp"
#include "harness/numerics/stretch_rounding.hpp"
#include "harness/numerics/term_sums.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

constexpr std::int64_t tile_rows = 128;
constexpr std::int64_t tile_cols = 512;
constexpr double fp64_unit = 0x1p-53;
constexpr std::int64_t most_scattered = 1 << 25;  ///< terms of a tile's stretch that are looked at one by one

/// Where results go, and what they are made of.
struct Problem {
  const AccumulationError& error;
  std::int64_t terms;
  const TermSums& sums;
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

/// Sums of magnitudes of the whole reduction into `hard` (still without factors).
void sum_magnitudes(const Problem& p, const Tile& tile, Workspace& work) {
  p.sums.magnitudes(tile, work.scaled.data());
  const ScaledMargin margin = scaled_margin(p.terms);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const double row = p.sums.row_scale(tile.row + i);
    const double* cols = p.sums.col_scales() + tile.col;
    double* out = p.hard + (tile.row + i) * tile.leading + tile.col;
    const float* scaled = work.scaled.data() + i * tile.cols;
    for (std::int64_t j = 0; j < tile.cols; ++j) {
      out[j] = (scaled[j] * margin.relative + margin.absolute) * row * cols[j];
    }
  }
}

/// One row of outputs of a tile, along one stretch.
struct RowOfSums {
  std::int64_t row, col, cols;  ///< the first output and how many
  const double* products;       ///< the stretch's sums
  const double* after;          ///< where its chain has come to
  const float* squares;         ///< scaled
};

/// Rounding errors of a long sum need not average out. A sum on the grid of its spacing U errs, when a term t
/// joins it, by a function of t alone: the sawtooth round(t / U) U - t, within U/2 and |t|. Its mean over
/// terms of a density that falls off from its peak is at most U^2/8 of that peak, and the peak at most about
/// 1/tau where the terms have the standard deviation tau: U^2 / (8 tau). That is nothing for a short sum of
/// terms that differ, as much as the spread for 10^5 positive ones, and most of the hard bound where
/// thousands are nearly equal. Which part of it there is, the data's last bits decide: `systematic`.
void add_common_errors(const Problem& p, const Stretch& stretch, const RowOfSums& r, std::int64_t& budget,
                       double* systematic) {
  const std::int64_t n = stretch.end - stretch.begin;
  if (n < 2) return;  // a single term has no company
  const double terms = static_cast<double>(n), chains = std::max(stretch.chains, 1.0), u = p.error.unit;
  const double margin = scaled_margin(n).relative, row = p.sums.row_scale(r.row);
  const double least = row * row / (margin * margin * terms);
  const double* cols = p.sums.col_scales() + r.col;
  // A lower bound of tau^2 from the sums that are there, and where n U^2 / (8 tau) counts beside the spread.
  const auto scatter_at_least = [&](std::int64_t j) {
    const double mean = r.products[j] / terms;
    return r.squares[j] * least * cols[j] * cols[j] - mean * mean;
  };
  const auto counts = [&](std::int64_t j) {
    const double d = r.products[j];
    const double spacing = stretch.leaves > 0
                               ? 2 * u * std::max(binade(d / stretch.leaves), 2 * std::fabs(d) / terms)
                               : 2 * u * std::max(binade(r.after[j]), binade(r.after[j] - d));
    return scatter_at_least(j) < 2 * terms * spacing * spacing;
  };
  bool any = false;
  for (std::int64_t j = 0; j < r.cols; ++j) any |= counts(j);
  if (!any) return;
  for (std::int64_t j = 0; j < r.cols; ++j) {
    if (r.products[j] == 0 || !std::isfinite(r.products[j]) || !counts(j)) continue;
    const double mean = r.products[j] / terms;
    double scatter = std::max(scatter_at_least(j), 0.0);
    // fp32 sums say little about terms that are nearly equal; where all of a tile is (a matrix of ones), what
    // they say must do.
    if (scatter < 0.1 * mean * mean && budget >= n) {
      scatter = p.sums.scatter(r.row, r.col + j, stretch.begin, n, mean);
      budget -= n;
    }
    const auto common = [&](double count, double s0, double s1, double term, double spread) {
      const double half = u * std::fabs(Line(s0, s1).mean_binade());
      const double spread_out =
          spread > 0 ? 0.5 * u * u * std::fabs(Line(s0, s1).mean_binade_square()) / std::sqrt(spread) : half;
      return count * std::min({half, spread_out, std::fabs(term)});
    };
    if (stretch.leaves > 0) {
      double size = terms / stretch.leaves;  // terms of a node's halves
      if (size > 1) systematic[j] += common(terms, 0, mean * size, mean, scatter);
      for (double nodes = stretch.leaves / 2; nodes >= 0.75; nodes /= 2, size *= 2)
        systematic[j] += common(nodes, 2 * mean * size, 2 * mean * size, mean * size, scatter * size);
      continue;
    }
    const double s0 = r.after[j] - r.products[j], s1 = r.after[j], part = r.products[j] / chains;
    systematic[j] += stretch.chains > 0 ? common(terms, 0, part, mean, scatter) +
                                              common(chains, s0, s1, part, terms / chains * scatter)
                                        : common(terms, s0, s1, mean, scatter);
  }
}

/// One stretch: v moves from s0 to s1, variance and mean collect. Parts that restart from zero keep their
/// chain in work.chain and join v at their end.
void add_stretch(const Problem& p, const Tile& tile, const Stretch& stretch, Workspace& work) {
  const AccumulationError& error = p.error;
  const std::int64_t n = stretch.end - stretch.begin;
  p.sums.stretch(tile, stretch.begin, n, work.product.data(), work.scaled.data());
  // Truncated chains of several parts in one stretch: their totals are rounded to nearest like any sum.
  const bool own_chain = error.combines_parts && stretch.chains == 0;
  const double on_total = error.unit * error.unit / 3;
  const bool nearest = !error.truncates || error.perhaps_truncates;
  std::int64_t budget = most_scattered;
  const StretchRounding stretch_rounding(error, stretch, p.terms);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t at = (tile.row + i) * tile.leading + tile.col;
    const double* product = work.product.data() + i * tile.cols;
    const float* scaled = work.scaled.data() + i * tile.cols;
    double* v = p.v + at;
    double* variance = p.variance + at;
    double* chain = own_chain ? work.chain.data() + i * tile.cols : v;
    stretch_rounding.add({tile.cols, product, scaled, p.sums.row_scale(tile.row + i),
                          p.sums.col_scales() + tile.col, p.hard + at, chain, variance, p.mean + at,
                          p.systematic + at});
    if (nearest)
      add_common_errors(p, stretch, {tile.row + i, tile.col, tile.cols, product, chain, scaled}, budget,
                        p.systematic + at);
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

/// All of a result of rows x cols, tile by tile.
void run_tiles(const Problem& problem, std::int64_t rows, std::int64_t cols) {
  const std::int64_t down = (rows + tile_rows - 1) / tile_rows;
  const std::int64_t across = (cols + tile_cols - 1) / tile_cols;
#pragma omp parallel if (worth_threads(rows, cols, problem.terms))
  {
    Workspace work;
#pragma omp for collapse(2) schedule(dynamic)
    for (std::int64_t i = 0; i < down; ++i) {
      for (std::int64_t j = 0; j < across; ++j) {
        const std::int64_t row = i * tile_rows;
        const std::int64_t col = j * tile_cols;
        run_tile(problem, {row, col, std::min(tile_rows, rows - row), std::min(tile_cols, cols - col), cols},
                 work);
      }
    }
  }
}

Problem problem_of(const AccumulationError& error, std::int64_t terms, const TermSums& sums, Value& c,
                   std::int64_t at) {
  return {error,
          terms,
          sums,
          c.v.data() + at,
          c.hard.data() + at,
          c.systematic.data() + at,
          c.mean.data() + at,
          c.variance.data() + at};
}

/// What inputs below the normal range add to the bounds.
void add_small_inputs(const AccumulationError& error, const MatrixView<double>& a,
                      const MatrixView<double>& b, Value& c, std::int64_t at) {
  if (error.unnormalised_below > 0) {
    add_unnormalised_inputs(a, b, error.unnormalised_below, error.alignment_relative, c.v.data() + at,
                            c.hard.data() + at, c.systematic.data() + at);
  }
  if (error.flush_inputs_below > 0) {
    add_flushed_inputs(a, b, error.flush_inputs_below, c.v.data() + at, c.hard.data() + at,
                       c.systematic.data() + at);
  }
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
  const MatrixSums sums(a, b);
  run_tiles(problem_of(error, a.cols, sums, c, at), c.rows, c.cols);
  add_small_inputs(error, a, b, c, at);
}

/// Every batch entry is one number: a row of `a` times a column of `b`, both without gaps.
void run_dots(const AccumulationError& error, const Value& a, const Value& b, std::int64_t terms, Value& c) {
  const Vectors left{a.v.data(), a.batch == 1 ? 0 : terms}, right{b.v.data(), b.batch == 1 ? 0 : terms};
  const DotSums sums(left, right, c.batch, terms, error.permutation);
  run_tiles(problem_of(error, terms, sums, c, 0), c.batch, 1);
  const double below = std::max(error.unnormalised_below, error.flush_inputs_below);
  if (below == 0) return;
  const auto has_small = [&](const double* x) {
    bool found = false;
    for (std::int64_t k = 0; k < terms; ++k) found |= x[k] != 0 && std::fabs(x[k]) < below;
    return found;
  };
  for (std::int64_t i = 0; i < c.batch; ++i)
    if (has_small(left[i]) || has_small(right[i]))
      add_small_inputs(error, view(left[i], 1, terms, false), view(right[i], terms, 1, false), c, i);
}

}  // namespace

Value tracked_matmul(const ArithmeticModel& model, const Value& a, bool transpose_a, const Value& b,
                     bool transpose_b) {
  Value c = make_value(common_batch(a, b), transpose_a ? a.cols : a.rows, transpose_b ? b.rows : b.cols);
  for (std::vector<double>* array : {&c.hard, &c.systematic, &c.mean, &c.variance}) array->resize(c.v.size());
  const AccumulationError error = accumulation_error(model, transpose_a ? a.rows : a.cols);
  if (c.size() == 0) return c;
  if (c.rows == 1 && c.cols == 1 && c.batch > 1) {
    run_dots(error, a, b, transpose_a ? a.rows : a.cols, c);
    return c;
  }
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    run(error, view(a, a.v, batch, transpose_a), view(b, b.v, batch, transpose_b), c, batch);
  }
  name_kin(a, transpose_a, b, transpose_b, c);
  return c;
}

}  // namespace parity
