#include "harness/numerics/stretch_rounding.hpp"

#include <algorithm>
#include <cmath>

#include "harness/numerics/binade_means.hpp"
#include "harness/numerics/scaled_operand.hpp"
#include "harness/numerics/value_access.hpp"

// The loop runs once an output and stretch, beside products that cost a few nanoseconds an output: it is
// written to vectorise (no branches, one division for everything along a line), and the file is compiled so.

namespace parity {
namespace {

constexpr double fp64_unit = 0x1p-53;

inline double at_most(double a, double b) {
  return a < b ? a : b;
}
inline double at_least(double a, double b) {
  return a > b ? a : b;
}

}  // namespace

StretchRounding::StretchRounding(const AccumulationError& error, const Stretch& stretch, std::int64_t terms) {
  const double n = static_cast<double>(stretch.end - stretch.begin);
  const ScaledMargin margin = scaled_margin(stretch.end - stretch.begin);
  relative_ = margin.relative;
  absolute_ = margin.absolute;
  // The fp64 reference rounds as well, in an order of its own: K (y^2/3 + V/6), see finish() in
  // tracked_matmul.cpp for y^2.
  const double reference = binade_square * fp64_unit * fp64_unit / 3 * static_cast<double>(terms);
  on_path_ = error.spread * stretch.path;
  on_squares_ = error.spread * binade_square * (stretch.path * stretch.path_noise + stretch.squares) +
                error.product_spread + reference / 6;
  half_step_ = stretch.path > 0 ? 0.5 / stretch.path : 0;
  chains_ = std::max(stretch.chains, 1.0);
  on_chains_ = error.spread * 3 * stretch.difference * chains_ * chains_;
  on_tree_ = error.spread * stretch.tree;
  share_ = n / static_cast<double>(terms);
  const bool has_chains = stretch.difference > 0 || stretch.tree > 0;
  if (!error.truncates) {
    add_ = has_chains ? &StretchRounding::add_as<false, true> : &StretchRounding::add_as<false, false>;
    return;
  }
  add_ = has_chains ? &StretchRounding::add_as<true, true> : &StretchRounding::add_as<true, false>;
  Truncation& t = truncation_;
  t.terms = n;
  t.per_term = 1 / n;
  t.chains = chains_;
  t.per_chain = 1 / chains_;
  t.steps = stretch.steps / chains_;
  t.keeps_start = stretch.chains > 0 ? 0 : 1;
  t.half_step = 0.5 / std::max(t.steps, 1.0);
  t.noise = std::sqrt(n / (6 * chains_));
  t.doubt_steps = 2 * std::max(0.55 * n / std::max(stretch.steps, 1.0) - 1.7, 0.0);
  t.unit = error.unit;
  t.term_grid = error.term_grid;
  t.product_reach = std::ldexp(1.0, error.product_bits);
  t.last_bit = 0.05 * std::ldexp(1.0, -error.product_bits);
  t.known = error.perhaps_truncates ? 0 : 1;
}

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
[[gnu::always_inline]] inline StretchRounding::Loss StretchRounding::truncation_loss(
    const Truncation& t, double s0, double difference, double reciprocal, double squares, double magnitudes) {
  const double start = s0 * t.keeps_start, along_chain = difference * t.per_chain, end = start + along_chain;
  const double half_step = t.half_step * along_chain, per_difference = reciprocal * t.chains;
  const double size_square = squares * t.per_term, size = std::sqrt(size_square);
  const double noise = t.noise * size;
  const double along = std::sqrt((start * start + start * end + end * end) * (1.0 / 3));
  const double sum_binade =
      Line{start + half_step, end + half_step, along_chain, per_difference}.mean_binade();
  const double before = Line{start - half_step, end - half_step, along_chain, per_difference}.mean_binade();
  const double blur_square = binade_mean * binade_mean * noise * noise;
  const double typical = std::sqrt(sum_binade * sum_binade + blur_square);
  const double before_square = before * before + blur_square;
  const double grid = t.term_grid * std::sqrt(at_least(before_square, 1.3 * 1.3 * size_square));

  // One division for two quotients: these are sums of fp32 numbers, whose products stay far inside fp64.
  const double reach = grid * t.product_reach, reach_and_size = reach + 0.8 * size;
  const double spacing = 2 * t.unit * typical, over_both = 1 / (spacing * reach_and_size);
  const double per_spacing = reach_and_size * over_both;
  // Nothing where the sums are zero: the product below is then infinite, or a NaN.
  const auto kept_of = [&](double finest) { return at_least(1 - finest * per_spacing, 0.0); };
  const double kept = kept_of(t.known * grid);
  const double kept_at_least = kept_of(t.known * at_least(grid, t.last_bit * size));
  const double each = t.steps * t.unit * kept;
  const double half_of_all = 0.5 * t.chains * t.steps * t.unit;
  const double of_steps = -(kept + kept_at_least) * half_of_all * sum_binade;
  const double doubt_of_steps = (kept - kept_at_least) * half_of_all * std::fabs(sum_binade);
  const double of_noise =
      t.chains * each * each *
      (binade_mean * binade_mean / 12 * squares * t.per_chain + 0.021 * along * at_most(along, noise));

  const double most_square = t.terms * squares, over_sums = 1 / (most_square * magnitudes);
  const double regression = at_most(magnitudes * magnitudes * magnitudes * over_sums, 1.0);
  const double doubt = 0.5 * at_least(1 - regression * (1 / 0.3), 0.0);
  const double q_square = before_square + (1.7 + doubt * t.doubt_steps) * size_square;
  const double share = reach * spacing * over_both;
  const double one_sided = at_most(std::fabs(difference) * most_square * over_sums, 1.0);
  const double count = t.terms * one_sided * (regression + (1 - regression) * one_sided);
  const double of_products = std::copysign(0.5 * grid * share * count, difference);
  const double grid_square = t.term_grid * t.term_grid * q_square;
  const double cut = grid_square * share * t.terms * (1.0 / 3 - one_sided * one_sided / 4);
  const bool any = at_most(magnitudes, squares) > 0;
  const double both = any ? of_steps - of_products : of_steps, doubtful = any ? doubt : 0;
  return {both * (1 - doubtful), doubt_of_steps + doubtful * std::fabs(both), of_noise + (any ? cut : 0)};
}

template <bool truncates, bool has_chains>
void StretchRounding::add_as(const StretchRow& row) const {
  const StretchRounding e = *this;  // a copy, which the stores below cannot change
  const Truncation t = truncation_;
  const double* __restrict product = row.product;
  const float* __restrict scaled = row.squares;
  const double* __restrict cols = row.col_unscale;
  const double* __restrict magnitudes = row.magnitudes;
  double* __restrict chain = row.chain;
  double* __restrict variance = row.variance;
  double* __restrict mean = row.mean;
  double* __restrict systematic = row.systematic;
  const double row_unscale = row.row_unscale;
  const double per_chain = 1 / chains_;
  const std::int64_t count = row.count;
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) {
    const double unscale = row_unscale * cols[j];
    const double squares = (static_cast<double>(scaled[j]) * e.relative_ + e.absolute_) * unscale * unscale;
    const double s0 = chain[j], d = product[j], half_step = e.half_step_ * d;
    const double s1 = s0 + d, reciprocal = 1 / d;
    double sum = e.on_path_ * Line{s0 + half_step, s1 + half_step, d, reciprocal}.mean_binade_square() +
                 e.on_squares_ * squares;
    if constexpr (has_chains) {
      const double nodes = binade(d), one = d * per_chain;
      sum += e.on_chains_ * Line{0, one, one, reciprocal * e.chains_}.mean_binade_square() +
             e.on_tree_ * nodes * nodes;
    }
    if constexpr (truncates) {
      const Loss loss = truncation_loss(t, s0, d, reciprocal, squares, magnitudes[j] * e.share_);
      sum += loss.variance;
      systematic[j] += loss.systematic + (1 - t.known) * std::fabs(loss.mean);
      mean[j] += t.known * loss.mean;
    }
    chain[j] = s1;
    variance[j] += sum;
  }
}

}  // namespace parity
