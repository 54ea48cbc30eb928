// The pass with its screen against a plain loop that evaluates every element exactly, one by one, over data
// that is made to slip through: each figure must be the same, sums of standardised errors to fp32 accuracy.
#include "harness/numerics/element_screen.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "harness/numerics/statistics_pass.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Sample {
  Tensor got;
  Value want;
  Contract contract;
};

enum class Nasty : std::uint8_t { healthy, finite, everything };

/// Mostly healthy elements with errors up to a few ulp around their bounds, and among them what breaks
/// shortcuts. Non-finite elements come in every third row only: they send a whole run down the slow path.
Sample sample(const Contract& contract, std::int64_t columns, Nasty nasty, bool offsets, unsigned seed) {
  constexpr std::int64_t batch = 2, rows = 18;
  Sample s;
  s.contract = contract;
  s.got = Tensor::create(contract.store, {batch, rows, columns}).value();
  s.want.batch = batch, s.want.rows = rows, s.want.cols = columns;
  const StoreGrid g = StoreGrid::of(contract.store);
  std::mt19937_64 engine(seed);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  const auto one_of = [&](std::initializer_list<double> list) {
    return list.begin()[static_cast<std::size_t>(uniform() * static_cast<double>(list.size()))];
  };
  const double largest = contract.store == DType::f64 ? 1e300 : std::min(g.largest, 1e38);
  const double scale = contract.store == DType::i32 ? 1000 : 1;
  for (std::int64_t i = 0; i < s.got.elements(); ++i) {
    double v = scale * std::ldexp(uniform() - 0.5, static_cast<int>(uniform() * 12) - 6);
    const double ulp = grid::ulp(g, v);
    double sigma = ulp * std::exp2(6 * uniform() - 5), hard = ulp * 200 * uniform(), variance = sigma * sigma;
    double mean = offsets ? (uniform() < 0.5 ? 0 : ulp * (uniform() - 0.5)) : 0;
    double systematic = offsets && uniform() < 0.5 ? ulp * uniform() : 0;
    double got = v + mean + (uniform() - 0.5) * 4 * sigma;
    const bool odd = nasty != Nasty::healthy && uniform() < 0.25;
    const bool non_finite = nasty == Nasty::everything && (i / columns) % 3 == 0;
    if (odd) {
      switch (static_cast<int>(uniform() * 14)) {
        case 0:
          v = one_of({0.0, -0.0}), got = one_of({0.0, -0.0, ulp, -ulp});
          break;
        case 1:
          v = one_of({1e-200, -1e-200, 5e-324, 1e-310}), got = one_of({0.0, 1.0});
          break;
        case 2:
          v = g.smallest_power * one_of({0.25, -0.75, 0.01}), got = v;
          break;
        case 3:
          v = one_of({largest, -largest, 1.001 * largest}), got = v, hard = 0.01 * largest;
          break;
        case 4:
          variance = one_of({0.0, nan, inf, 1e-300, 1e-190, 1e300, -1.0});
          break;
        case 5:
          hard = one_of({0.0, nan, inf, 1e-300, 1e300});
          break;
        case 6:
          got = v + 200 * ulp * (uniform() - 0.5);
          break;  // about the hard bound
        case 7:
          v = std::exp2(std::floor(8 * uniform())), got = v - 0.5 * ulp;
          break;
        case 8:
          v = got + 0.5 * ulp, variance = 1e-3 * ulp * ulp;
          break;
        case 9:
          got = 2 * v;
          break;
        case 10:
          if (offsets) mean = one_of({1.0, -1.0, 1e3, 1e-200}) * scale;
          break;
        case 11:
          if (offsets) systematic = one_of({inf, 1e30, 1e-300});
          break;
        case 12:
          got = v + one_of({1, -1}) * 11 * sigma;
          break;  // about the expected spread
        default:
          v = one_of({1.0, -1.0, 0.5}), got = v;
          break;
      }
    }
    if (odd && non_finite && contract.store != DType::i32) {
      switch (static_cast<int>(uniform() * 6)) {
        case 0:
          got = nan;
          break;
        case 1:
          got = one_of({inf, -inf});
          break;
        case 2:
          v = nan;
          break;
        case 3:
          v = one_of({inf, -inf}), got = one_of({v, -v, 1.0});
          break;
        case 4:
          v = got = nan;
          break;
        default:
          break;
      }
    }
    s.got.set_value(i, got);
    if (odd && non_finite && uniform() < 0.1)
      s.got.set_bits(i, poison_bits(contract.store, Poison::unwritten));
    s.want.v.push_back(v);
    s.want.hard.push_back(hard);
    s.want.variance.push_back(variance);
    s.want.mean.push_back(mean);
    s.want.systematic.push_back(systematic);
  }
  return s;
}

/// Everything measured, one element at a time.
Measurement plain(const Sample& s) {
  Measurement m;
  ErrorStatistics& e = m.statistics;
  const Value& w = s.want;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  e.elements = w.size();
  m.tile_rows = (w.rows + 15) / 16, m.tile_columns = (w.cols + 15) / 16;
  m.rows.resize(size(w.batch * w.rows)), m.columns.resize(size(w.batch * w.cols));
  m.tiles.resize(size(w.batch * m.tile_rows * m.tile_columns));
  m.wrong.rows.resize(size(w.rows)), m.wrong.columns.resize(size(w.cols)),
      m.wrong.batches.resize(size(w.batch));
  const ElementKernel kernel(s.contract, w.size());
  const auto block = std::make_unique<ElementBlock>();
  const bool bits_only = wants_bits(s.contract), integer = s.contract.store == DType::i32;
  double sum_abs = 0, sum = 0, square = 0, gw = 0, gg = 0, ww = 0, n = 0;
  std::vector<WorstElement> all;
  for (std::int64_t i = 0; i < w.size(); ++i) {
    const std::size_t at = size(i);
    const std::int64_t b = i / (w.rows * w.cols), r = i / w.cols % w.rows, c = i % w.cols;
    const double got = s.got.value(i), v = w.v[at], hard = bits_only ? 0 : w.hard[at],
                 systematic = bits_only ? 0 : w.systematic[at], mean = bits_only ? 0 : w.mean[at],
                 variance = bits_only ? 0 : w.variance[at];
    const bool poison = s.got.bits(i) == poison_bits(s.contract.store, Poison::unwritten);
    bool outside = false, beyond = false;
    WorstElement element;
    element.index = i, element.got = got, element.want = v, element.got_bits = s.got.bits(i);
    element.ratio = inf;
    if (!std::isfinite(got) || !std::isfinite(v)) {
      e.nan += std::isnan(got), e.inf += std::isinf(got);
      const ElementLimits limits = kernel.limits(v, hard, systematic, mean, variance);
      const bool anything = std::isinf(limits.hard_low) && std::isinf(limits.hard_high);
      if (!integer && std::isnan(got) && poison) {
        outside = beyond = true;
      } else if (std::isnan(v)) {
        outside = beyond = !std::isnan(got);
        e.missing_nan += outside;
      } else if (std::isinf(v)) {
        outside = beyond = got != v;
      } else if (std::isnan(got)) {
        outside = true, beyond = !anything;
        e.unexpected_nonfinite += beyond;
      } else {
        outside = got < limits.low || got > limits.high;
        beyond = outside && (got < limits.hard_low || got > limits.hard_high);
        e.unexpected_nonfinite += beyond;
      }
    } else {
      ElementBlock& k = *block;
      for (std::size_t l = 0; l < 8; ++l) {
        k.got[l] = got, k.v[l] = v, k.hard[l] = hard, k.systematic[l] = systematic, k.mean[l] = mean;
        k.variance[l] = variance;
      }
      kernel.evaluate(k, 1);
      const double error = got - v, ulps = std::fabs(error) / grid::ulp(kernel.store_grid(), v);
      e.zeros_want += v == 0;
      e.max_abs = std::max(e.max_abs, std::fabs(error));
      if (v != 0) e.max_relative = std::max(e.max_relative, std::fabs(error) / std::fabs(v));
      e.ulp_quantiles[4] = std::max(e.ulp_quantiles[4], ulps);
      ++e.ulp_histogram[ulps > 0 ? size(std::clamp(std::ilogb(ulps) + 17, 1, 48)) : 0];
      e.max_hard_ratio = std::max(e.max_hard_ratio, k.hard_ratio[0]);
      sum_abs += std::fabs(error), sum += error, square += error * error, n += 1;
      gw += got * v, gg += got * got, ww += v * v;
      outside = k.ratio[0] > 1, beyond = outside && k.hard_ratio[0] > 1;
      element.bound = k.bound[0], element.ratio = k.ratio[0];
      const ScopeSums one{k.counts[0], k.z[0], k.z_outward[0], k.z_square[0]};
      m.tensor.add(one);
      m.rows[size(b * w.rows + r)].add(one), m.columns[size(b * w.cols + c)].add(one);
      m.tiles[size((b * m.tile_rows + r / 16) * m.tile_columns + c / 16)].add(one);
    }
    const bool listed = outside || (std::isfinite(element.ratio) && element.ratio > 0);
    if (listed) all.push_back(element);
    if (outside && poison) {
      ++e.unwritten;
      if (m.first_unwritten < 0) m.first_unwritten = i;
    }
    if (!outside) continue;
    ++e.outside_spread, e.outside_hard += beyond;
    ++m.wrong.total, ++m.wrong.rows[size(r)], ++m.wrong.columns[size(c)], ++m.wrong.batches[size(b)];
    if (!beyond) ++m.suspect_count, m.suspects.push_back(i);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.ratio > y.ratio; });
  if (!all.empty()) e.max_bound_ratio = all.front().ratio;
  all.resize(std::min<std::size_t>(all.size(), 8));
  e.worst = all;
  if (m.suspects.size() > Measurement::suspect_limit) m.suspects.resize(Measurement::suspect_limit);
  e.mean_abs = sum_abs / n, e.mean_signed = sum / n, e.rms = std::sqrt(square / n), e.nmse = square / ww;
  e.cosine = gw / (std::sqrt(gg) * std::sqrt(ww));
  return m;
}

void expect_equal(const Measurement& a, const Measurement& b) {
  const ErrorStatistics &x = a.statistics, &y = b.statistics;
  EXPECT_EQ(x.elements, y.elements);
  EXPECT_EQ(x.nan, y.nan);
  EXPECT_EQ(x.inf, y.inf);
  EXPECT_EQ(x.unexpected_nonfinite, y.unexpected_nonfinite);
  EXPECT_EQ(x.missing_nan, y.missing_nan);
  EXPECT_EQ(x.unwritten, y.unwritten);
  EXPECT_EQ(x.zeros_want, y.zeros_want);
  EXPECT_EQ(x.max_abs, y.max_abs);
  EXPECT_EQ(x.max_relative, y.max_relative);
  EXPECT_EQ(x.max_bound_ratio, y.max_bound_ratio);
  EXPECT_EQ(x.max_hard_ratio, y.max_hard_ratio);
  EXPECT_EQ(x.outside_spread, y.outside_spread);
  EXPECT_EQ(x.outside_hard, y.outside_hard);
  EXPECT_EQ(x.ulp_quantiles[4], y.ulp_quantiles[4]);
  EXPECT_EQ(x.ulp_histogram, y.ulp_histogram);
  // Squares of the largest fp64 numbers overflow, in both.
  const auto near = [](double p, double q, double relative) {
    if (std::isfinite(p) || std::isfinite(q)) {
      EXPECT_NEAR(p, q, relative * std::max(std::fabs(q), 1e-300));
    }
  };
  near(x.mean_abs, y.mean_abs, 1e-12);
  if (std::isfinite(y.mean_abs)) {
    EXPECT_NEAR(x.mean_signed, y.mean_signed, 1e-12 * y.mean_abs);
  }
  near(x.rms, y.rms, 1e-12);
  near(x.nmse, y.nmse, 1e-12);
  near(x.cosine, y.cosine, 1e-9);
  ASSERT_EQ(x.worst.size(), y.worst.size());
  for (std::size_t i = 0; i < x.worst.size(); ++i) {
    EXPECT_EQ(x.worst[i].index, y.worst[i].index);
    EXPECT_EQ(x.worst[i].ratio, y.worst[i].ratio);
    EXPECT_EQ(x.worst[i].bound, y.worst[i].bound);
    EXPECT_EQ(x.worst[i].got_bits, y.worst[i].got_bits);
  }
  EXPECT_EQ(a.wrong.rows, b.wrong.rows);
  EXPECT_EQ(a.wrong.columns, b.wrong.columns);
  EXPECT_EQ(a.wrong.batches, b.wrong.batches);
  EXPECT_EQ(a.suspects, b.suspects);
  EXPECT_EQ(a.suspect_count, b.suspect_count);
  EXPECT_EQ(a.first_unwritten, b.first_unwritten);
  const auto sums = [](const ScopeSums& p, const ScopeSums& q) {
    EXPECT_EQ(p.count, q.count);
    // One z is good to 1e-5 of itself and 1e-6 of one; the sum of |z| is at most the root.
    const double size = std::sqrt(q.count * q.z_square);
    EXPECT_NEAR(p.z, q.z, 2e-5 * size + 1e-6 * q.count);
    EXPECT_NEAR(p.z_outward, q.z_outward, 2e-5 * size + 1e-6 * q.count);
    EXPECT_NEAR(p.z_square, q.z_square, 2e-5 * q.z_square + 2e-6 * size);
  };
  const auto scopes = [&](const std::vector<ScopeSums>& p, const std::vector<ScopeSums>& q) {
    ASSERT_EQ(p.size(), q.size());
    for (std::size_t i = 0; i < p.size(); ++i) sums(p[i], q[i]);
  };
  sums(a.tensor, b.tensor);
  scopes(a.rows, b.rows);
  scopes(a.columns, b.columns);
  scopes(a.tiles, b.tiles);
}

std::vector<Contract> contracts(DType store) {
  std::vector<Contract> list;
  for (const bool order_known : {true, false}) {
    for (const bool store_rounds : {true, false}) {
      for (int ends = 0; ends < 3; ++ends) {
        Contract c;
        c.store = store, c.order_known = order_known, c.store_rounds = store_rounds;
        c.store_rounding = ends == 1 ? Rounding::toward_zero : Rounding::nearest_even;
        c.store_rounding_known = ends < 2;
        list.push_back(c);
      }
    }
  }
  Contract exact;
  exact.store = store, exact.exact = true;
  list.push_back(exact);
  return list;
}

class ElementScreenTest : public testing::TestWithParam<DType> {};

TEST_P(ElementScreenTest, HidesNothing) {
  unsigned seed = 1;
  for (const Contract& contract : contracts(GetParam())) {
    for (const std::int64_t columns : {300, 29}) {
      for (const Nasty nasty : {Nasty::healthy, Nasty::finite, Nasty::everything}) {
        for (const bool offsets : {false, true}) {
          SCOPED_TRACE(fmt::format(
              "seed {}: {} columns, nasty {}, offsets {}, order known {}, store rounds {}", seed, columns,
              static_cast<int>(nasty), offsets, contract.order_known, contract.store_rounds));
          const Sample s = sample(contract, columns, nasty, offsets, seed++);
          expect_equal(measure(s.got, s.want, s.contract), plain(s));
          if (HasFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ElementScreenTest,
                         testing::Values(DType::f16, DType::bf16, DType::f32, DType::f64, DType::i32),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace parity
