#include "harness/numerics/error_statistics.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/numerics/statistics_pass.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

struct Sample {
  Tensor got;
  Value want;
  Contract contract;
};

/// A result with an error of some ULP in every element; strided when `leading` > columns.
Sample sample(std::int64_t batch, std::int64_t rows, std::int64_t columns, DType store,
              std::int64_t leading = 0) {
  Sample s;
  const Shape shape{batch, rows, columns};
  s.got = Tensor::create(store, shape, leading > 0 ? leading_strides(shape, leading) : Strides{}).value();
  fill_tensor(s.got, {.fill = Fill::normal, .store = store});
  s.want.batch = batch, s.want.rows = rows, s.want.cols = columns;
  const double ulp = unit_roundoff(format_of(store));
  for (std::int64_t i = 0; i < s.got.elements(); ++i) {
    const double got = s.got.value(i), error = std::sin(static_cast<double>(i)) * ulp * got;
    s.want.v.push_back(got - error);
    s.want.hard.push_back(std::fabs(got) * ulp * 4);
    s.want.systematic.push_back(0);
    s.want.mean.push_back(0);
    s.want.variance.push_back(got * got * ulp * ulp / 4);
  }
  s.contract.store = store;
  s.contract.order_known = true;
  s.contract.store_rounds = false;
  return s;
}

TEST(ErrorStatistics, AgreesWithPlainSums) {
  for (const std::int64_t leading : {0, 80}) {
    const Sample s = sample(2, 37, 77, DType::f32, leading);
    const ErrorStatistics e = compute_statistics(s.got, s.want, s.contract);
    double max_abs = 0, sum_abs = 0, sum = 0, square = 0, gw = 0, gg = 0, ww = 0, relative = 0;
    std::vector<double> ulps;
    for (std::int64_t i = 0; i < s.got.elements(); ++i) {
      const double g = s.got.value(i), w = s.want.v[static_cast<std::size_t>(i)], d = g - w;
      max_abs = std::max(max_abs, std::fabs(d));
      sum_abs += std::fabs(d), sum += d, square += d * d;
      gw += g * w, gg += g * g, ww += w * w;
      if (w != 0) relative = std::max(relative, std::fabs(d / w));
      ulps.push_back(std::fabs(d) / ulp_at(format_of(DType::f32), w));
    }
    const double n = static_cast<double>(s.got.elements());
    EXPECT_EQ(e.elements, 2 * 37 * 77);
    EXPECT_EQ(e.max_abs, max_abs);
    EXPECT_NEAR(e.mean_abs, sum_abs / n, 1e-12 * max_abs);
    EXPECT_NEAR(e.mean_signed, sum / n, 1e-12 * max_abs);
    EXPECT_NEAR(e.rms, std::sqrt(square / n), 1e-12 * max_abs);
    EXPECT_NEAR(e.nmse, square / ww, 1e-12 * square / ww);
    EXPECT_NEAR(e.relative_l2, std::sqrt(square / ww), 1e-12);
    EXPECT_NEAR(e.norm_ratio, std::sqrt(gg / ww), 1e-12);
    EXPECT_NEAR(e.cosine, gw / std::sqrt(gg * ww), 1e-14);
    EXPECT_EQ(e.max_relative, relative);
    std::sort(ulps.begin(), ulps.end());
    EXPECT_EQ(e.ulp_quantiles[4], ulps.back());
    // A bin spans a factor of two.
    EXPECT_GE(e.ulp_quantiles[0], ulps[ulps.size() / 2] / 2);
    EXPECT_LE(e.ulp_quantiles[0], ulps[ulps.size() / 2] * 2);
    std::int64_t counted = 0;
    for (const std::int64_t bin : e.ulp_histogram) counted += bin;
    EXPECT_EQ(counted, e.elements);
    EXPECT_EQ(e.worst.size(), 8U);
    for (std::size_t i = 1; i < 8; ++i) EXPECT_GE(e.worst[i - 1].ratio, e.worst[i].ratio);
    const WorstElement& w = e.worst.front();
    EXPECT_EQ(w.index, (w.batch * 37 + w.row) * 77 + w.col);
    EXPECT_EQ(w.got, s.got.value(w.index));
    EXPECT_EQ(w.got_bits, s.got.bits(w.index));
  }
}

TEST(ErrorStatistics, WorstRowIsFound) {
  Sample s = sample(1, 40, 64, DType::f32);
  for (std::int64_t c = 0; c < 64; ++c) s.got.set_value(13 * 64 + c, -s.got.value(13 * 64 + c));
  const ErrorStatistics e = compute_statistics(s.got, s.want, s.contract);
  EXPECT_NEAR(e.cosine_worst_row, -1, 1e-6);
  EXPECT_GT(e.cosine, 0.8);
}

TEST(ErrorStatistics, DoNotDependOnThreadsOrStrides) {
  const Sample s = sample(3, 300, 1300, DType::f16), strided = sample(3, 300, 1300, DType::f16, 1312);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Measurement one = measure(s.got, s.want, s.contract);
  omp_set_num_threads(5);
  const Measurement five = measure(s.got, s.want, s.contract),
                    far = measure(strided.got, strided.want, s.contract);
  omp_set_num_threads(threads);
  for (const Measurement* m : {&five, &far}) {
    EXPECT_EQ(one.statistics.mean_signed, m->statistics.mean_signed);
    EXPECT_EQ(one.statistics.rms, m->statistics.rms);
    EXPECT_EQ(one.statistics.cosine, m->statistics.cosine);
    EXPECT_EQ(one.statistics.cosine_worst_row, m->statistics.cosine_worst_row);
    EXPECT_EQ(one.tensor.z_square, m->tensor.z_square);
    ASSERT_EQ(one.columns.size(), m->columns.size());
    for (std::size_t i = 0; i < one.columns.size(); ++i) EXPECT_EQ(one.columns[i].z, m->columns[i].z);
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(one.statistics.worst[i].index, m->statistics.worst[i].index);
  }
}

TEST(ErrorStatistics, ScopesHoldTheirElements) {
  const Sample s = sample(2, 37, 77, DType::f32);
  const Measurement m = measure(s.got, s.want, s.contract);
  EXPECT_EQ(m.tile_rows, 3);
  EXPECT_EQ(m.tile_columns, 5);
  ASSERT_EQ(m.rows.size(), 74U);
  ASSERT_EQ(m.columns.size(), 154U);
  ASSERT_EQ(m.tiles.size(), 30U);
  for (const ScopeSums& row : m.rows) EXPECT_EQ(row.count, 77);
  for (const ScopeSums& column : m.columns) EXPECT_EQ(column.count, 37);
  EXPECT_EQ(m.tiles[0].count, 256);
  EXPECT_EQ(m.tiles[14].count, 5 * 13);
  EXPECT_EQ(m.tensor.count, 2 * 37 * 77);
  double z = 0;
  for (const ScopeSums& tile : m.tiles) z += tile.z_square;
  // z of most elements is good to 1e-5, and tiles and rows add it up in different orders in fp32.
  EXPECT_NEAR(z, m.tensor.z_square, 1e-6 * z);
}

TEST(ErrorStatistics, NonFiniteElementsAreCountedAndLeftOut) {
  Sample s = sample(1, 8, 8, DType::f32);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const ErrorStatistics before = compute_statistics(s.got, s.want, s.contract);
  s.got.set_value(3, nan), s.got.set_value(4, inf), s.got.set_value(5, -inf);
  s.want.v[5] = -inf;
  s.got.set_value(6, nan), s.want.v[6] = nan;
  s.want.v[7] = nan;
  const ErrorStatistics e = compute_statistics(s.got, s.want, s.contract);
  EXPECT_EQ(e.nan, 2);
  EXPECT_EQ(e.inf, 2);
  EXPECT_EQ(e.unexpected_nonfinite, 2);
  EXPECT_EQ(e.missing_nan, 1);
  EXPECT_EQ(e.outside_hard, 3);
  EXPECT_TRUE(std::isfinite(e.rms));
  EXPECT_LE(e.max_abs, before.max_abs);
  EXPECT_TRUE(std::isinf(e.max_bound_ratio));
  EXPECT_EQ(e.worst[0].index, 3);
  EXPECT_EQ(e.worst[1].index, 4);
}

TEST(ErrorStatistics, EmptyAndMissingArrays) {
  Sample s = sample(1, 4, 4, DType::f32);
  Value bare;
  bare.rows = bare.cols = 4;
  bare.v = s.want.v;
  Sample zeros = s;
  for (auto* a : {&zeros.want.hard, &zeros.want.variance}) std::fill(a->begin(), a->end(), 0.0);
  EXPECT_EQ(compute_statistics(s.got, bare, s.contract).outside_hard,
            compute_statistics(s.got, zeros.want, s.contract).outside_hard);
  Value nothing;
  const Tensor empty = Tensor::create(DType::f32, {1, 0, 0}).value();
  EXPECT_EQ(compute_statistics(empty, nothing, s.contract).elements, 0);
}

}  // namespace
}  // namespace parity
