#include "harness/numerics/tracked_matmul.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/numerics/accumulation_error.hpp"
#include "harness/numerics/flushed_inputs.hpp"
#include "harness/numerics/matrix_product.hpp"
#include "harness/numerics/scaled_operand.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

constexpr std::int64_t tile_rows = 128;
constexpr std::int64_t tile_cols = 512;
constexpr double fp64_unit = 0x1p-53;

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

/// 2^floor(log2 |x|), zero for zero.
double binade(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u);
}

/// Mean of sgn(s) 2^floor(log2 |s|) over s uniform in [s0, s1]. The integral from 0 to x = 2^J m is
/// sum_{j<J} 4^j + 4^J (m - 1) = 4^J (m - 2/3).
double mean_binade(double s0, double s1) {
  const double difference = s1 - s0;
  const double middle = 0.5 * (s0 + s1);
  const double near = std::copysign(binade(middle), middle);
  const auto integral = [](double x) {
    const double p = binade(x);
    return p * std::fabs(x) - p * p * (2.0 / 3);
  };
  const double across = (integral(s1) - integral(s0)) / difference;
  return std::fabs(difference) < 1e-4 * std::fabs(middle) || difference == 0 ? near : across;
}

/// What truncation does along one stretch of a multi-term adder's chain.
///
/// A step ends with the sum s cut to its spacing 2u 2^floor(log2 |s|), after its terms were cut to a grid
/// that is finer by r: the mean loss is sum_truncation * 2^floor(log2 |s|), toward zero. The partial sums are
/// not known one by one. Given the stretch's ends they are a bridge: a straight line from s0 to s1 plus noise
/// of variance V t (1-t). So
///   - the expected loss is steps * sum_truncation * (mean of sgn(s) 2^floor(log2 |s|) along the line);
///   - since that function is 0.72 s on average (1/(2 ln 2)), the noise adds the variance of its integral,
///     (steps * sum_truncation * 0.72)^2 * V/12;
///   - where the noise w = sqrt(V/6) blurs where the line crosses powers of two, the deviation of the binade
///   from
///     0.72 s (variance 0.021 s^2 over a binade) is known only up to a share w/|s|.
/// Products: each is cut to the grid q 2^-F, q = 2^emax ~ the larger of the sum's and the products' binade.
/// Only products that reach below the grid are cut, a share that falls with their size over q 2^-free_bits. A
/// cut product loses half a grid step toward zero on average: mean = -grid/2 * (positive minus negative
/// products). That count is estimated from D: K D/M when all have one sign, its regression K D/M * M^2/(K V)
/// when signs are mixed. What the estimate misses is at most the second moment, grid^2/3 a product (grid^2/12
/// when the sign is known).
struct Loss {
  double mean = 0;
  double variance = 0;
};
Loss truncation_loss(const AccumulationError& error, const Stretch& stretch, double s0, double s1,
                     double squares, double magnitudes) {
  const double difference = s1 - s0;
  if (stretch.chains > 0) {
    s0 = 0;
    s1 = difference / stretch.chains;
  }
  const double terms = static_cast<double>(stretch.end - stretch.begin);
  const double noise_squares = stretch.chains > 0 ? squares / stretch.chains : squares;
  const double noise = std::sqrt(noise_squares / 6);
  const double along = std::sqrt((s0 * s0 + s0 * s1 + s1 * s1) / 3);
  const double by_steps = stretch.steps * error.sum_truncation;
  Loss loss;
  loss.mean = -by_steps * mean_binade(s0, s1);
  // Independent chains average; one chain does not.
  const double repeated = stretch.chains > 0 ? by_steps * by_steps / stretch.chains : by_steps * by_steps;
  loss.variance = repeated * (0.52 * noise_squares / 12 + 0.021 * along * std::min(along, noise));

  const double size = std::sqrt(squares / terms);
  const double q = std::max(0.72 * (along + noise), 1.3 * size);
  const double reach = q * std::ldexp(1.0, -error.term_free_bits);
  const double share = reach > 0 ? reach / (reach + 0.4 * size) : 0;
  const double grid = error.term_grid * q;
  if (magnitudes > 0) {
    const double one_sided = std::min(1.0, std::fabs(difference) / magnitudes);
    const double regression = std::min(1.0, magnitudes * magnitudes / (terms * squares));
    const double count = terms * one_sided * (regression + (1 - regression) * one_sided);
    loss.mean -= std::copysign(0.5 * grid * share * count, difference);
    loss.variance += grid * grid * share * terms * (1.0 / 3 - one_sided * one_sided / 4);
  }
  return loss;
}

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
  const ScaledMargin margin = scaled_margin(n);
  // The fp64 reference rounds as well, in an order of its own: K (y^2/3 + V/6), see finish() for y^2.
  const double reference = std::pow(0.41 * fp64_unit, 2) * static_cast<double>(p.terms);
  const double on_path = error.spread * stretch.path / 3;
  const double on_difference = error.spread * stretch.difference;
  const double on_squares =
      error.spread * (stretch.path / 6 + stretch.squares) + error.product_spread + reference / 6;
  // Truncated chains of several parts in one stretch: their totals are rounded to nearest like any sum.
  const bool own_chain = error.combines_parts && stretch.chains == 0;
  const double on_total = own_chain && stretch.ends_part ? std::pow(0.41 * error.unit, 2) : 0;
  const double share = static_cast<double>(n) / static_cast<double>(p.terms);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t at = (tile.row + i) * tile.leading + tile.col;
    const double row = p.scaled_a.unscale[static_cast<std::size_t>(tile.row + i)];
    const double* cols = p.scaled_b.unscale.data() + tile.col;
    const double* product = work.product.data() + i * tile.cols;
    float* scaled = work.scaled.data() + i * tile.cols;
    double* v = p.v + at;
    double* variance = p.variance + at;
    double* chain = own_chain ? work.chain.data() + i * tile.cols : v;
    if (error.truncates) {
      for (std::int64_t j = 0; j < tile.cols; ++j) {
        const double unscale = row * cols[j];
        const double squares = (scaled[j] * margin.relative + margin.absolute) * unscale * unscale;
        const Loss loss =
            truncation_loss(error, stretch, chain[j], chain[j] + product[j], squares, p.hard[at + j] * share);
        variance[j] += loss.variance;
        if (error.perhaps_truncates) {
          p.systematic[at + j] += std::fabs(loss.mean);
        } else {
          p.mean[at + j] += loss.mean;
        }
      }
    }
    for (std::int64_t j = 0; j < tile.cols; ++j) {
      const double unscale = row * cols[j];
      const double squares = (scaled[j] * margin.relative + margin.absolute) * unscale * unscale;
      const double s0 = chain[j];
      const double d = product[j];
      const double s1 = s0 + d;
      chain[j] = s1;
      variance[j] += on_path * (s0 * s0 + s0 * s1 + s1 * s1) + on_difference * d * d + on_squares * squares;
    }
    if (own_chain && stretch.ends_part) {
      for (std::int64_t j = 0; j < tile.cols; ++j) {
        v[j] += chain[j];
        chain[j] = 0;
        variance[j] += on_total * v[j] * v[j];
      }
    }
  }
}

/// From sums of magnitudes to bounds; elements that are NaN or Inf carry none.
void finish(const Problem& p, const Tile& tile) {
  const AccumulationError& error = p.error;
  const double reference_hard = std::expm1(static_cast<double>(p.terms + 16) * 1.01 * fp64_unit);
  const double hard_relative = (error.hard_relative + reference_hard) * (1 + 8 * fp64_unit);
  const double reference = std::pow(0.41 * fp64_unit, 2) * static_cast<double>(p.terms) / 3;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t at = (tile.row + i) * tile.leading + tile.col;
    for (std::int64_t j = at; j < at + tile.cols; ++j) {
      const double v = p.v[j];
      const bool finite = std::isfinite(v);
      p.hard[j] = finite ? p.hard[j] * hard_relative + error.hard_absolute : 0;
      p.variance[j] = finite ? p.variance[j] + reference * v * v + error.absolute_variance : 0;
      p.mean[j] = finite ? p.mean[j] + error.mean_relative * v : 0;
      p.systematic[j] = finite ? p.systematic[j] + error.systematic_relative * std::fabs(v) : 0;
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
#pragma omp parallel
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
  if (error.flush_inputs_below > 0) {
    add_flushed_inputs(a, b, error.flush_inputs_below, c.v.data() + at, c.hard.data() + at,
                       c.systematic.data() + at);
  }
}

}  // namespace

Value tracked_matmul(const ArithmeticModel& model, const Value& a, bool transpose_a, const Value& b,
                     bool transpose_b) {
  Value c =
      make_value(std::max(a.batch, b.batch), transpose_a ? a.cols : a.rows, transpose_b ? b.rows : b.cols);
  for (std::vector<double>* array : {&c.hard, &c.systematic, &c.mean, &c.variance}) array->resize(c.v.size());
  const AccumulationError error = accumulation_error(model, transpose_a ? a.rows : a.cols);
  if (c.size() == 0) return c;
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    run(error, view(a, a.v, batch, transpose_a), view(b, b.v, batch, transpose_b), c, batch);
  }
  return c;
}

}  // namespace parity
