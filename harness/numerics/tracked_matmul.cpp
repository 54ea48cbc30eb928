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

/// Mean of sgn(s) 2^floor(log2 |s|) over s uniform in [s0, s1]. The integral from 0 to x = 2^J m is
/// sum_{j<J} 4^j + 4^J (m - 1) = 4^J (m - 2/3).
double mean_binade(double s0, double s1) {
  const double difference = s1 - s0;
  const double middle = 0.5 * (s0 + s1);
  const auto integral = [](double x) {
    const double p = binade(x);
    return p * (std::fabs(x) - p * (2.0 / 3));
  };
  const double across = (integral(s1) - integral(s0)) / difference;
  return std::fabs(difference) > 1e-4 * std::fabs(middle) ? across : std::copysign(binade(middle), middle);
}

/// Mean of 4^floor(log2 |s|) over s uniform in [s0, s1]; the integral is sgn(x) 8^J (m - 6/7).
double mean_binade_square(double s0, double s1) {
  const double difference = s1 - s0;
  const double middle = 0.5 * (s0 + s1);
  const auto integral = [](double x) {
    const double p = binade(x);
    return std::copysign(p * p * (std::fabs(x) - p * (6.0 / 7)), x);
  };
  const double across = (integral(s1) - integral(s0)) / difference;
  const double near = binade(middle) * binade(middle);
  return std::fabs(difference) > 1e-4 * std::fabs(middle) ? across : near;
}

constexpr double binade_mean = 0.721;    // of 2^floor(log2 |s|) / |s|: 1 / (2 ln 2)
constexpr double binade_square = 0.541;  // of its square: 3 / (8 ln 2)

/// What truncation does along one stretch of a multi-term adder's chain.
///
/// A step ends with its sum s cut to the spacing 2u B, B = 2^floor(log2 |s|), from a grid `finest`: the
/// coarser of the grid terms were aligned to (2^-F q, q = 2^emax ~ the larger of the previous sum's and the
/// products' binade) and the last bit of the smallest product of a step. The mean loss toward zero is u B (1
/// - finest / (2u B)). The sums are not known one by one. Given the stretch's ends they are a bridge: a line
/// from s0 to s1 plus noise of variance V t (1-t). So
///   - the expected loss is that of the line, sampled in the middle of the steps;
///   - since B is 0.72 |s| on average, the noise adds the variance of its integral, (steps u 0.72)^2 V/12;
///   - where the noise w = sqrt(V/6) blurs where the line crosses powers of two, the deviation of B from 0.72
///   |s|
///     (variance 0.021 s^2 over a binade) is known only up to a share w/|s|.
/// Products: one is cut where it reaches below the grid: a share that falls with the products' size over
/// q 2^(product_bits - F). A cut product loses half a grid step toward zero on average: grid/2 * (positive
/// minus negative products). That count is estimated from D: K D/M when all have one sign, its regression K
/// D/M * M^2/(K V) when signs are mixed. What the estimate misses is at most the second moment, grid^2/3 a
/// product (grid^2/12 when the sign is known). Where few large products carry the sum (M^2 << K V), whole
/// steps lie below the grid and lose nothing: the loss lies anywhere between none and the derived one.
struct Loss {
  double mean = 0;
  double systematic = 0;
  double variance = 0;
};
Loss truncation_loss(const AccumulationError& error, const Stretch& stretch, double s0, double s1,
                     double squares, double magnitudes) {
  const double difference = s1 - s0;
  const double terms = static_cast<double>(stretch.end - stretch.begin);
  const double chains = std::max(stretch.chains, 1.0);
  const double steps = stretch.steps / chains;
  if (stretch.chains > 0) {
    s0 = 0;
    s1 = difference / chains;
  }
  const double half_step = 0.5 * (s1 - s0) / std::max(steps, 1.0);
  const double noise = std::sqrt(squares / chains / 6);
  const double along = std::sqrt((s0 * s0 + s0 * s1 + s1 * s1) / 3);
  const double size = std::sqrt(squares / terms);
  const double sum_binade = mean_binade(s0 + half_step, s1 + half_step);
  const double blur = binade_mean * noise;
  const double typical = std::sqrt(sum_binade * sum_binade + blur * blur);
  const double before = mean_binade(s0 - half_step, s1 - half_step);
  const double q = std::max(std::sqrt(before * before + blur * blur), 1.3 * size);
  const double grid = error.term_grid * q;

  const auto kept_of = [&](double finest) {
    return typical > 0 ? std::max(1 - finest / (2 * error.unit * typical), 0.0) : 0;
  };
  const double last_bit = 0.05 * size * std::ldexp(1.0, -error.product_bits);
  const double kept = kept_of(error.perhaps_truncates ? 0 : grid);
  const double kept_at_least = error.perhaps_truncates ? kept : kept_of(std::max(grid, last_bit));
  const double each = steps * error.unit * kept;
  Loss loss;
  loss.mean = -0.5 * (kept + kept_at_least) * chains * steps * error.unit * sum_binade;
  loss.systematic = 0.5 * (kept - kept_at_least) * chains * steps * error.unit * std::fabs(sum_binade);
  loss.variance =
      chains * each * each *
      (binade_mean * binade_mean * squares / chains / 12 + 0.021 * along * std::min(along, noise));
  if (magnitudes > 0 && squares > 0) {
    const double regression = std::min(1.0, magnitudes * magnitudes / (terms * squares));
    const double doubt = 0.5 * std::max(1 - regression / 0.3, 0.0);
    const double top = 1.7 + 2 * doubt * (0.55 * terms / std::max(stretch.steps, 1.0) - 1.7);
    const double q_square = before * before + blur * blur + std::max(top, 1.7) * size * size;
    const double grid_square = error.term_grid * error.term_grid * q_square;
    const double reach = grid * std::ldexp(1.0, error.product_bits);
    const double share = reach / (reach + 0.8 * size);
    const double one_sided = std::min(1.0, std::fabs(difference) / magnitudes);
    const double count = terms * one_sided * (regression + (1 - regression) * one_sided);
    loss.mean -= std::copysign(0.5 * grid * share * count, difference);
    loss.variance += grid_square * share * terms * (1.0 / 3 - one_sided * one_sided / 4);
    loss.systematic += doubt * std::fabs(loss.mean);
    loss.mean *= 1 - doubt;
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
  const double reference = binade_square * fp64_unit * fp64_unit / 3 * static_cast<double>(p.terms);
  const double on_path = error.spread * stretch.path;
  const double on_squares =
      error.spread * binade_square * (stretch.path * stretch.path_noise + stretch.squares) +
      error.product_spread + reference / 6;
  const double half_step = stretch.path > 0 ? 0.5 / stretch.path : 0;
  // Truncated chains of several parts in one stretch: their totals are rounded to nearest like any sum.
  const bool own_chain = error.combines_parts && stretch.chains == 0;
  const double on_total = error.unit * error.unit / 3;
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
        p.systematic[at + j] += loss.systematic + (error.perhaps_truncates ? std::fabs(loss.mean) : 0);
        p.mean[at + j] += error.perhaps_truncates ? 0 : loss.mean;
      }
    }
    for (std::int64_t j = 0; j < tile.cols; ++j) {
      const double unscale = row * cols[j];
      const double squares = (scaled[j] * margin.relative + margin.absolute) * unscale * unscale;
      const double s0 = chain[j];
      const double d = product[j];
      const double s1 = s0 + d;
      chain[j] = s1;
      variance[j] +=
          on_path * mean_binade_square(s0 + half_step * d, s1 + half_step * d) + on_squares * squares;
    }
    if (stretch.difference > 0 || stretch.tree > 0) {
      const double on_chains = error.spread * 3 * stretch.difference;
      const double on_tree = error.spread * stretch.tree;
      const double chains = std::max(stretch.chains, 1.0);
      for (std::int64_t j = 0; j < tile.cols; ++j) {
        const double share_of_d = product[j] / chains;
        const double nodes = binade(product[j]);
        variance[j] +=
            on_chains * chains * chains * mean_binade_square(0, share_of_d) + on_tree * nodes * nodes;
      }
    }
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
