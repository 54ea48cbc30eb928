// Each planted fault of the catalogue is caught; beside it stands what thresholds in common use say of it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/numerics/common_thresholds.hpp"
#include "harness/numerics/judge_testing.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

using namespace judge_testing;

// The size of the table in the ground document, smaller: 128 x 128, entries of B scaled so that y ~ N(0, 1).
Problem usual() {
  Problem p;
  p.m = p.n = 128;
  p.bias = -0.008;
  return p;
}

Healthy scaled(Problem p) {
  Healthy h{p, inputs_of(p), {}, {}, contract_of(p)};
  for (std::int64_t i = 0; i < h.inputs.b.elements(); ++i) {
    h.inputs.b.set_value(i, h.inputs.b.value(i) / std::sqrt(static_cast<double>(p.k)));
  }
  h.got = run(p, h.inputs);
  h.want = reference(p, h.inputs);
  return h;
}

void copy_block(const Tensor& from, Tensor& to, std::int64_t row, std::int64_t column, std::int64_t rows,
                std::int64_t columns) {
  const std::int64_t n = to.shape()[1];
  for (std::int64_t r = row; r < row + rows; ++r) {
    for (std::int64_t c = column; c < column + columns; ++c) to.set_bits(r * n + c, from.bits(r * n + c));
  }
}

/// The result of the same device when the last `lost` products are left out.
Tensor without_tail(const Healthy& h, std::int64_t lost) {
  Inputs in = h.inputs;
  for (std::int64_t k = h.problem.k - lost; k < h.problem.k; ++k) {
    for (std::int64_t c = 0; c < h.problem.n; ++c) in.b.set_value(k * h.problem.n + c, 0);
  }
  return run(h.problem, in);
}

struct Common {
  bool cosine, nmse, assert_close, allclose;
};

/// The fault is caught in every profile, and the common thresholds say what they are known to say.
void expect_caught(const Healthy& h, const Tensor& got, const std::string& pattern, Common common) {
  const Judgement j = judge(got, h.want, h.contract, {});
  EXPECT_NE(j.verdict, Verdict::pass);
  if (!pattern.empty()) {
    EXPECT_EQ(j.location.pattern, pattern) << reasons(j);
  }
  EXPECT_FALSE(j.reasons.empty());
  const CommonThresholds t = common_thresholds(got, h.want);
  EXPECT_EQ(t.cosine, common.cosine) << "cosine";
  EXPECT_EQ(t.nmse, common.nmse) << "nmse";
  EXPECT_EQ(t.assert_close, common.assert_close) << "assert_close";
  EXPECT_EQ(t.allclose, common.allclose) << "allclose";
}

class PlantedFaults : public testing::TestWithParam<bool> {
 protected:
  Healthy make(DType store = DType::f16, std::int64_t k = 256) const {
    Problem p = usual();
    p.k = k;
    p.store = store;
    p.order_known = GetParam();
    return scaled(p);
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, PlantedFaults, testing::Bool(),
                         [](const auto& order) { return order.param ? "OrderKnown" : "OrderUnknown"; });

TEST_P(PlantedFaults, HealthyResultPasses) {
  for (const DType store : {DType::f16, DType::f32, DType::bf16}) {
    const Healthy h = make(store);
    const Judgement j = h.judgement();
    EXPECT_EQ(j.verdict, Verdict::pass) << reasons(j);
    EXPECT_EQ(j.location.pattern, "none");
    EXPECT_LE(j.statistics.max_bound_ratio, 1);
    EXPECT_GT(j.statistics.max_abs, 0);
  }
}

TEST_P(PlantedFaults, LastKLost) {
  const Healthy h = make(DType::f16, 1024);
  expect_caught(h, without_tail(h, 1), "", {true, false, false, false});
}

TEST_P(PlantedFaults, TailOfKLostInOneTile) {
  Healthy h = make();
  copy_block(without_tail(h, 32), h.got, 64, 0, 64, 64);
  expect_caught(h, h.got, "tile at (64, 0), 64x64", {false, false, false, false});
}

TEST_P(PlantedFaults, OneElementOffByOnePercent) {
  Healthy h = make();
  std::int64_t at = 17 * 128 + 5;
  while (std::abs(h.got.value(at)) < 0.5 || std::abs(h.got.value(at)) > 0.9) ++at;
  h.got.set_value(at, h.got.value(at) * 1.01);
  expect_caught(h, h.got, "one element", {true, true, false, true});
}

TEST_P(PlantedFaults, TileTransposed) {
  Healthy h = make();
  const Tensor healthy = h.got;
  for (std::int64_t r = 0; r < 16; ++r) {
    for (std::int64_t c = 0; c < 16; ++c)
      h.got.set_bits((32 + r) * 128 + 80 + c, healthy.bits((32 + c) * 128 + 80 + r));
  }
  expect_caught(h, h.got, "tile at (32, 80), 16x16", {false, false, false, false});
}

TEST_P(PlantedFaults, StaleTile) {
  Healthy h = make();
  Inputs moved = h.inputs;
  const Inputs other = inputs_of([&] {
    Problem p = h.problem;
    p.seed = 99;
    return p;
  }());
  for (std::int64_t i = 0; i < moved.b.elements(); ++i) {
    moved.b.set_value(i, moved.b.value(i) + 0.01 / 16 * other.b.value(i));
  }
  copy_block(run(h.problem, moved), h.got, 16, 96, 16, 16);
  expect_caught(h, h.got, "tile at (16, 96), 16x16", {true, true, false, false});
}

TEST_P(PlantedFaults, BiasMissingInOneColumn) {
  Healthy h = make();
  Problem no_bias = h.problem;
  no_bias.bias = 0;
  copy_block(run(no_bias, h.inputs), h.got, 0, 3, 128, 1);
  expect_caught(h, h.got, "column 3", {true, true, false, true});
}

TEST_P(PlantedFaults, ResultTimesTwo) {
  Healthy h = make();
  for (std::int64_t i = 0; i < h.got.elements(); ++i) h.got.set_value(i, 2 * h.got.value(i));
  expect_caught(h, h.got, "all elements", {true, false, false, false});
}

TEST_P(PlantedFaults, RowZeroed) {
  Healthy h = make();
  for (std::int64_t c = 0; c < 128; ++c) h.got.set_value(77 * 128 + c, 0);
  expect_caught(h, h.got, "row 77", {false, false, false, false});
}

TEST_P(PlantedFaults, HalfPrecisionAccumulation) {
  const Healthy h = make(DType::f16, 1024);
  Tensor got = h.got;
  const FloatFormat half = format_of(DType::f16);
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < h.problem.k; ++k) {
      sum = round_to(half,
                     sum + h.inputs.a.value(i / 128 * h.problem.k + k) * h.inputs.b.value(k * 128 + i % 128));
    }
    got.set_value(i, sum + (i % 128 == 3 ? h.problem.bias : 0));
  }
  expect_caught(h, got, "", {true, true, false, false});
}

TEST_P(PlantedFaults, TruncatingStore) {
  Healthy h = make();
  Problem truncating = h.problem;
  truncating.store_rounding = Rounding::toward_zero;
  expect_caught(h, run(truncating, h.inputs), "", {true, true, true, true});
}

TEST_P(PlantedFaults, InputsThroughBf16) {
  Healthy h = make();
  Inputs narrow = h.inputs;
  for (Tensor* t : {&narrow.a, &narrow.b}) {
    for (std::int64_t i = 0; i < t->elements(); ++i)
      t->set_value(i, round_to(format_of(DType::bf16), t->value(i)));
  }
  expect_caught(h, run(h.problem, narrow), "", {true, true, false, true});
}

TEST_P(PlantedFaults, ElementNeverWritten) {
  for (const DType store : {DType::f16, DType::f32, DType::bf16}) {
    Healthy h = make(store);
    h.got.set_bits(5 * 128 + 9, poison_bits(store, Poison::unwritten));
    h.got.set_bits(90 * 128 + 1, poison_bits(store, Poison::unwritten));
    const Judgement j = h.judgement();
    EXPECT_EQ(j.verdict, Verdict::fail);
    EXPECT_EQ(j.statistics.unwritten, 2);
    ASSERT_FALSE(j.reasons.empty());
    EXPECT_EQ(j.reasons.front(), "2 of 16384 elements never written, the first at (5, 9)");
  }
}

TEST_P(PlantedFaults, NanTooMany) {
  Healthy h = make();
  h.got.set_value(40, std::numeric_limits<double>::quiet_NaN());
  h.got.set_value(41, std::numeric_limits<double>::infinity());
  const Judgement j = h.judgement();
  EXPECT_EQ(j.verdict, Verdict::fail);
  EXPECT_EQ(j.statistics.nan, 1);
  EXPECT_EQ(j.statistics.inf, 1);
  EXPECT_EQ(j.statistics.unexpected_nonfinite, 2);
  EXPECT_EQ(j.location.wrong, 2);
}

TEST_P(PlantedFaults, NanSwallowed) {
  Healthy h = make();
  h.inputs.a.set_value(7 * h.problem.k + 11, std::numeric_limits<double>::quiet_NaN());
  h.want = reference(h.problem, h.inputs);
  const Tensor with_nan = run(h.problem, h.inputs);
  const Judgement healthy = judge(with_nan, h.want, h.contract, {});
  EXPECT_EQ(healthy.verdict, Verdict::pass) << reasons(healthy);
  EXPECT_EQ(healthy.statistics.nan, 128);
  const Judgement j = h.judgement();  // the result of the inputs without the NaN
  EXPECT_EQ(j.verdict, Verdict::fail);
  EXPECT_EQ(j.statistics.missing_nan, 128);
  EXPECT_EQ(j.location.pattern, "row 7");
}

}  // namespace
}  // namespace parity
