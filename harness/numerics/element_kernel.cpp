#include "harness/numerics/element_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace parity {
namespace {

// Bounds beyond this are "anything"; keeps the grid arithmetic finite.
constexpr double anything = 0x1p1020;

inline double at_most(double a, double b) {
  return a < b ? a : b;
}
inline double at_least(double a, double b) {
  return a > b ? a : b;
}

struct Interval {
  double low, high, hard_low, hard_high;  // before rounding to the grid
};

inline Interval interval_of(double v, double hard, double systematic, double mean, double variance,
                            double lambda) {
  // The order of the operands lets a NaN bound become "anything".
  const double h = hard < anything ? hard : anything;
  const double var = variance < 0x1p1000 ? variance : 0x1p1000;
  const double wanted = lambda * std::sqrt(var > 0 ? var : 0) + 0.1 * std::fabs(mean) + systematic;
  const double e = wanted < anything ? wanted : anything;
  const double x = v + mean;
  const double hard_low = v - h, hard_high = v + h;
  return {at_most(at_least(x - e, hard_low), hard_high), at_least(at_most(x + e, hard_high), hard_low),
          hard_low, hard_high};
}

EndRounding end_rounding(const Contract& contract) {
  if (!contract.store_rounding_known && !wants_bits(contract)) return EndRounding::outward;
  return contract.store_rounding == Rounding::nearest_even ? EndRounding::nearest : EndRounding::toward_zero;
}

template <EndRounding ends>
ElementLimits on_grid(const StoreGrid& g, const Interval& i) {
  if (!g.narrow) return {i.low, i.high, i.hard_low, i.hard_high};
  return {grid::lower_end<ends>(g, i.low), grid::upper_end<ends>(g, i.high),
          grid::lower_end<ends>(g, i.hard_low), grid::upper_end<ends>(g, i.hard_high)};
}

}  // namespace

ElementKernel::ElementKernel(const Contract& contract, std::int64_t elements)
    : grid_(StoreGrid::of(contract.store)),
      ends_(end_rounding(contract)),
      lambda_(spread_multiplier(elements, contract)),
      inflation_(aggregate_inflation(contract)),
      store_rounds_(contract.store_rounds && grid_.narrow) {}

ElementLimits ElementKernel::limits(double v, double hard, double systematic, double mean,
                                    double variance) const {
  const Interval i = interval_of(v, hard, systematic, mean, variance, lambda_);
  ElementLimits result;
  switch (ends_) {
    case EndRounding::nearest:
      result = on_grid<EndRounding::nearest>(grid_, i);
      break;
    case EndRounding::toward_zero:
      result = on_grid<EndRounding::toward_zero>(grid_, i);
      break;
    case EndRounding::outward:
      result = on_grid<EndRounding::outward>(grid_, i);
      break;
  }
  constexpr double inf = std::numeric_limits<double>::infinity();
  // An unbounded interval contains infinity in every format.
  if (i.high - v >= anything / 2) result.high = inf;
  if (i.low - v <= -anything / 2) result.low = -inf;
  if (i.hard_high - v >= anything / 2) result.hard_high = inf;
  if (i.hard_low - v <= -anything / 2) result.hard_low = -inf;
  return result;
}

template <EndRounding ends, bool narrow>
void ElementKernel::evaluate_as(ElementBlock& b, std::size_t count) const {
  const StoreGrid g = grid_;
  const double lambda = lambda_;
  constexpr double half = ends == EndRounding::nearest ? 0.5 : 1.0;
  // Just above and exactly 1: the ratio says "outside" exactly where the interval test does.
  constexpr double just_outside = 1 + 0x1p-40;
  for (std::size_t i = 0; i < count; ++i) {
    const double v = b.v[i], got = b.got[i], x = v + b.mean[i];
    const Interval in = interval_of(v, b.hard[i], b.systematic[i], b.mean[i], b.variance[i], lambda);
    double low = in.low, high = in.high, hard_low = in.hard_low, hard_high = in.hard_high;
    if constexpr (narrow) {
      low = grid::lower_end<ends>(g, low);
      high = grid::upper_end<ends>(g, high);
      hard_low = grid::lower_end<ends>(g, hard_low);
      hard_high = grid::upper_end<ends>(g, hard_high);
    }
    const double error = got - v, from_center = got - x;
    const double spacing = grid::ulp(g, v);
    const double end = from_center >= 0 ? in.high : in.low;
    const double bound = std::fabs(end - x) + half * grid::ulp(g, end);
    const double hard_end = error >= 0 ? in.hard_high : in.hard_low;
    const double hard_bound = std::fabs(hard_end - v) + half * grid::ulp(g, hard_end);
    const double ratio = std::fabs(from_center) / bound;
    const double hard_ratio = std::fabs(error) / hard_bound;
    const double outside = at_least(got - high, low - got);
    const double beyond = at_least(got - hard_high, hard_low - got);
    b.error[i] = error;
    b.bound[i] = bound;
    b.ratio[i] = outside > 0 ? at_least(ratio, just_outside) : at_most(ratio, 1.0);
    b.hard_ratio[i] = beyond > 0 ? at_least(hard_ratio, just_outside) : at_most(hard_ratio, 1.0);
    b.ulps[i] = std::fabs(error) * grid::reciprocal_power(spacing);
    const double size = std::fabs(v);
    b.relative[i] = std::fabs(error) / (size > 0 ? size : std::numeric_limits<double>::infinity());
  }
}

// Aggregates look at what is left once everything predictable is taken off the error:
// - the systematic part (it is common to elements);
// - where a bias is expected, the hard bound: such an adder truncates, and what it loses follows the bits of
// the
//   data (nothing of fp16 products that fit its fraction, all of products far below the largest), so neither
//   the expected bias nor the variance holds for all data. Its bits are judged by replay; what the aggregates
//   still see beyond that is the store (a tensor core's hard bound is small against half an fp16 ulp);
// - the residual of the store: where sigma is small against an ulp, round(x) - x is known and, for data on a
//   coarse grid, shared by all elements (integers plus a bias of 0.3 stored to bf16). It fades as x comes
//   within 2 sigma of a rounding boundary and as sigma nears an ulp: the mean of a sawtooth under Gaussian
//   noise has its first harmonic damped by exp(-2 pi^2 (sigma/ulp)^2), here taken as a line from 1 at 0.04 to
//   0 at 0.34.
// What remains of the store counts as variance ulp^2/12, or its actual square where that is larger (ties).
// A store whose rounding is unknown may truncate: its ulp is a systematic uncertainty.
template <EndRounding ends>
void ElementKernel::standardise(ElementBlock& b, std::size_t count) const {
  const StoreGrid g = grid_;
  const double rounds = store_rounds_ ? 1.0 : 0.0;
  const double bias_factor = inflation_.bias, spread_factor = inflation_.spread;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = b.v[i] + b.mean[i];
    const double variance = b.variance[i] < 0x1p1000 ? b.variance[i] : 0x1p1000;
    const double spacing = grid::ulp(g, x) * rounds;
    double error = b.got[i] - x;
    const double expected_bias = std::fabs(b.mean[i]);
    double certain = b.systematic[i] + (expected_bias > 0 ? b.hard[i] : 0.0);
    double store_variance = spacing * spacing * (1.0 / 12);
    if constexpr (ends == EndRounding::nearest) {
      const double sigma = std::sqrt(variance > 0 ? variance : 0);
      const double residual = (grid::nearest_unbounded(g, x) - x) * rounds;
      const double to_boundary = 0.5 * spacing - std::fabs(residual);
      const double near = at_most(to_boundary / (2 * at_least(sigma, 0x1p-500)), 1.0);
      const double noise = sigma * grid::reciprocal_power(grid::ulp(g, x));
      const double damped = at_least(at_most(1.15 - 3.4 * noise, 1.0), 0.0);
      const double known = residual * near * damped;
      error -= known;
      store_variance = at_least(store_variance, (residual - known) * (residual - known));
    } else if constexpr (ends == EndRounding::toward_zero) {
      error += std::copysign(0.5 * spacing, x);
      certain += 0.5 * spacing;
    } else {
      certain += spacing;
    }
    const double rest = at_least(std::fabs(error) - certain, 0.0);
    const double for_bias = bias_factor * variance + store_variance;
    const double for_spread = spread_factor * variance + store_variance;
    // Elements outside their interval are reported by themselves; exact elements have nothing to standardise.
    const double counts = (variance > 0x1p-600 ? 1.0 : 0.0) * (b.ratio[i] <= 1 ? 1.0 : 0.0);
    const double deviation = std::sqrt(at_least(for_bias, 0x1p-600));
    const double z = std::copysign(counts * rest, error) / deviation;
    b.z_whole[i] = counts * error / deviation;
    b.z_certain[i] = counts * certain / deviation;
    b.z[i] = z;
    b.z_outward[i] = x < 0 ? -z : z;
    b.z_square[i] = counts * rest * rest / at_least(for_spread, 0x1p-600);
    b.counts[i] = counts;
  }
}

void ElementKernel::evaluate(ElementBlock& block, std::size_t count) const {
  const std::size_t whole = (count + 7) / 8 * 8;
  const auto run = [&]<EndRounding ends>() {
    if (grid_.narrow) {
      evaluate_as<ends, true>(block, whole);
    } else {
      evaluate_as<ends, false>(block, whole);
    }
    standardise<ends>(block, whole);
  };
  switch (ends_) {
    case EndRounding::nearest:
      run.operator()<EndRounding::nearest>();
      break;
    case EndRounding::toward_zero:
      run.operator()<EndRounding::toward_zero>();
      break;
    case EndRounding::outward:
      run.operator()<EndRounding::outward>();
      break;
  }
}

}  // namespace parity
