// The tracked bounds against what the emulated arithmetic computes: hard bounds hold always, the spread is
// that of the errors, and both checks fail when the model is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/numerics/arithmetic_testing.hpp"
#include "harness/numerics/tracked_element.hpp"
#include "harness/numerics/value_shape.hpp"
#include "harness/tensor/random.hpp"

namespace parity {
namespace {

using namespace parity::testing;
using Kind = SummationOrder::Kind;

struct Spread {
  double rms = 0, largest = 0, worst_hard = 0, worst_expected = 0;
};

/// Errors of `actual` against bounds derived from `claimed`, over seeds.
Spread measure(const ArithmeticModel& actual, const ArithmeticModel& claimed, Fill fill, std::int64_t k,
               int seeds = 2) {
  Spread spread;
  double sum = 0;
  std::int64_t n = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Factors f = make_factors(actual.precision.input, fill, static_cast<std::uint64_t>(seed), 24, 32, k,
                                   DType::f32, actual.precision.accumulate);
    const Value got = emulate(actual, f.a, f.b);
    const Value want = track(claimed, f.a, f.b);
    for (std::size_t i = 0; i < got.v.size(); ++i) {
      const double error = got.v[i] - want.v[i];
      if (!std::isfinite(error)) continue;
      if (error != 0) spread.worst_hard = std::max(spread.worst_hard, std::fabs(error) / want.hard[i]);
      const double off = std::fabs(error - want.mean[i]);
      const double sigma = std::sqrt(want.variance[i]);
      const double z = off == 0 ? 0 : off / sigma;
      sum += z * z;
      ++n;
      spread.largest = std::max(spread.largest, z);
      // docs/numerics.md, section 5: E = lambda sigma + 0.1 |mu| + systematic, lambda = 8.
      const double expected = 8 * sigma + 0.1 * std::fabs(want.mean[i]) + want.systematic[i];
      if (off > 0) spread.worst_expected = std::max(spread.worst_expected, off / expected);
    }
  }
  spread.rms = std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(n, 1)));
  return spread;
}

TEST(Tracked, HardAndExpectedBoundsHoldForEveryOrderAndFill) {
  for (const DType input : {DType::f32, DType::f16, DType::bf16}) {
    for (const Fill fill : {Fill::normal, Fill::uniform, Fill::positive, Fill::cancelling, Fill::wide,
                            Fill::integer, Fill::selector, Fill::subnormal, Fill::overflow}) {
      for (const SummationOrder& order : all_orders()) {
        for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate}) {
          for (const std::int64_t k : {1, 7, 150}) {
            const ArithmeticModel model = model_of(input, DType::f32, order, how);
            const Spread own = measure(model, model, fill, k, 1);
            EXPECT_LE(own.worst_hard, 1) << to_string(model) << name_of(fill) << k;
            EXPECT_LE(own.worst_expected, 1) << to_string(model) << name_of(fill) << k;
          }
        }
      }
    }
  }
}

TEST(Tracked, UnknownOrderCoversEveryOrder) {
  for (const Fill fill : {Fill::normal, Fill::positive, Fill::cancelling, Fill::wide}) {
    for (const SummationOrder& order : all_orders()) {
      ArithmeticModel actual = model_of(DType::f32, DType::f32, order, MultiplyAdd::separate);
      ArithmeticModel claimed = actual;
      claimed.accumulation.reset();
      const Spread spread = measure(actual, claimed, fill, 256, 1);
      EXPECT_LE(spread.worst_hard, 1) << to_string(actual) << name_of(fill);
      EXPECT_LE(spread.worst_expected, 1.4)
          << to_string(actual) << name_of(fill);  // 11.1 sigma: the looser tail
    }
    for (const int fraction_bits : {23, 24, 25}) {
      for (const int terms : {4, 8, 16}) {
        ArithmeticModel actual = model_of(DType::f16, DType::f32, {}, MultiplyAdd::multi_term);
        actual.accumulation->adder = {terms, fraction_bits};
        ArithmeticModel claimed = actual;
        claimed.accumulation.reset();
        claimed.may_truncate = true;
        const Spread spread = measure(actual, claimed, fill, 512, 1);
        EXPECT_LE(spread.worst_hard, 1) << to_string(actual) << name_of(fill);
        EXPECT_LE(spread.worst_expected, 1.4) << to_string(actual) << name_of(fill);
      }
    }
  }
}

TEST(Tracked, MultiTermAdderStaysInItsBounds) {
  for (const DType input : {DType::f16, DType::bf16}) {
    for (const Fill fill :
         {Fill::normal, Fill::uniform, Fill::positive, Fill::cancelling, Fill::wide, Fill::subnormal}) {
      for (const SummationOrder& order :
           {SummationOrder{}, SummationOrder{Kind::split_k, 4, 0}, SummationOrder{Kind::blocked, 64, 0}}) {
        for (const std::int64_t k : {1, 16, 17, 300, 1024}) {
          const ArithmeticModel model = model_of(input, DType::f32, order, MultiplyAdd::multi_term);
          const Spread spread = measure(model, model, fill, k, 1);
          EXPECT_LE(spread.worst_hard, 1) << to_string(model) << name_of(fill) << k;
          EXPECT_LE(spread.worst_expected, 1) << to_string(model) << name_of(fill) << k;
        }
      }
    }
  }
}

ArithmeticModel fp16_adder(MultiTermAdder adder, const SummationOrder& order = {}) {
  ArithmeticModel model = model_of(DType::f16, DType::f16, order, MultiplyAdd::multi_term);
  model.accumulation->adder = adder;
  return model;
}

TEST(Tracked, Fp16AccumulatorsStayInTheirBounds) {
  std::vector<ArithmeticModel> models;
  for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate})
    for (const SummationOrder& order : {SummationOrder{}, SummationOrder{Kind::blocked, 8, 0}})
      models.push_back(model_of(DType::f16, DType::f16, order, how));
  for (const SummationOrder& order :
       {SummationOrder{}, SummationOrder{Kind::split_k, 4, 0}, SummationOrder{Kind::blocked, 64, 0}}) {
    models.push_back(fp16_adder({16, 25, Rounding::nearest_even}, order));
    models.push_back(fp16_adder({4, 23, Rounding::nearest_even}, order));
    models.push_back(fp16_adder({8, 24, Rounding::toward_zero}, order));
  }
  for (const ArithmeticModel& model : models) {
    ArithmeticModel unknown = model;
    unknown.accumulation.reset();
    unknown.may_truncate = model.accumulation->multiply_add == MultiplyAdd::multi_term &&
                           model.accumulation->adder.rounding == Rounding::toward_zero;
    for (const Fill fill : {Fill::normal, Fill::positive, Fill::cancelling, Fill::wide, Fill::integer,
                            Fill::selector, Fill::subnormal, Fill::overflow}) {
      for (const std::int64_t k : {1, 17, 100, 512}) {
        const Spread own = measure(model, model, fill, k, 1);
        EXPECT_LE(own.worst_hard, 1) << to_string(model) << name_of(fill) << k;
        EXPECT_LE(own.worst_expected, 1) << to_string(model) << name_of(fill) << k;
        const Spread other = measure(model, unknown, fill, k, 1);
        EXPECT_LE(other.worst_hard, 1) << to_string(model) << name_of(fill) << k;
        EXPECT_LE(other.worst_expected, 1.4) << to_string(model) << name_of(fill) << k;
      }
    }
  }
  // One rounding for each step of the adder, not for each term: the spread says so.
  const auto spread = [](const ArithmeticModel& actual, const ArithmeticModel& claimed) {
    return measure(actual, claimed, Fill::normal, 512);
  };
  const ArithmeticModel sixteen = fp16_adder({16, 25, Rounding::nearest_even});
  EXPECT_NEAR(spread(sixteen, sixteen).rms, 1, 0.15);
  EXPECT_GT(spread(model_of(DType::f16, DType::f16, {}), sixteen).rms, 2.5);
}

/// Rows of scalar products have a way of their own; their bounds are those of a product of matrices.
TEST(Tracked, DotsOfRowsHaveTheBoundsOfAProduct) {
  std::vector<ArithmeticModel> models;
  for (const SummationOrder& order : all_orders())
    models.push_back(model_of(DType::f32, DType::f32, order, MultiplyAdd::separate));
  models.push_back(model_of(DType::f16, DType::f32, {}, MultiplyAdd::multi_term));
  models.push_back(models.front());
  models.back().accumulation.reset();
  models.push_back(models.front());
  models.back().denormals = Denormals::either;
  constexpr std::int64_t rows = 5;
  for (const ArithmeticModel& model : models) {
    for (const Fill fill : {Fill::normal, Fill::positive, Fill::wide, Fill::subnormal, Fill::nan_cone}) {
      for (const std::int64_t k : {1, 7, 150}) {
        const Factors f = make_factors(model.precision.input, fill, 3, rows, rows, k);
        const auto arithmetic = make_tracked_arithmetic(model);
        Value x = arithmetic->load(f.a), y = transpose(arithmetic->load(f.b));
        for (const bool with_errors : {false, true}) {
          if (with_errors) {  // errors of the operands go through
            x = arithmetic->add(x, x);
            y = arithmetic->mul(y, y);
          }
          const Value dots = arithmetic->row_dot(x, &y);
          const Value whole = arithmetic->matmul(x, false, y, true);
          for (std::int64_t i = 0; i < rows; ++i) {
            const auto at = static_cast<std::size_t>(i), diagonal = static_cast<std::size_t>(i * rows + i);
            const std::string what =
                to_string(model) + " " + std::string(name_of(fill)) + " " + std::to_string(k);
            if (std::isnan(whole.v[diagonal])) {
              EXPECT_TRUE(std::isnan(dots.v[at])) << what;
              EXPECT_EQ(dots.hard[at], 0) << what;
              continue;
            }
            EXPECT_NEAR(dots.v[at], whole.v[diagonal],
                        1e-10 * whole.hard[diagonal] + 1e-12 * std::fabs(whole.v[diagonal]))
                << what;
            // Margins of a whole product, where any of its inputs is subnormal, are 1e-4 of the bound.
            const double tolerance = 1.1e-4 * whole.hard[diagonal];
            EXPECT_NEAR(dots.hard[at], whole.hard[diagonal], tolerance) << what;
            EXPECT_NEAR(dots.systematic[at], whole.systematic[diagonal], tolerance) << what;
            EXPECT_NEAR(dots.mean[at], whole.mean[diagonal], 1e-5 * whole.hard[diagonal]) << what;
            if (whole.v[diagonal] == 0) continue;  // the margin of the squares of zeros is what is left
            EXPECT_NEAR(dots.variance[at], whole.variance[diagonal], 1e-4 * whole.variance[diagonal]) << what;
          }
        }
      }
    }
  }
}

TEST(Tracked, SpreadIsThatOfTheErrors) {
  for (const SummationOrder& order : all_orders()) {
    for (const Fill fill : {Fill::normal, Fill::positive}) {
      const ArithmeticModel model = model_of(DType::f32, DType::f32, order);
      const Spread spread = measure(model, model, fill, 512, 4);
      EXPECT_NEAR(spread.rms, 0.97, 0.09) << to_string(model) << name_of(fill);
      EXPECT_LT(spread.largest, 6.5) << to_string(model) << name_of(fill);
    }
  }
}

/// 0.3 (1 + eps r) for each term, r uniform in [-1, 1]; the other factor is one value a column.
Factors nearly_equal(std::int64_t k, double eps) {
  Factors f{make_tensor(DType::f32, {6, k}), make_tensor(DType::f32, {k, 3})};
  for (std::int64_t i = 0; i < 6 * k; ++i) {
    const PhiloxBlock r = philox(7, static_cast<std::uint64_t>(i), 1);
    f.a.set_value(i, (0.3 + 0.01 * static_cast<double>(i / k)) *
                         (1 + eps * (2 * uniform_open(r.word[0], r.word[1]) - 1)));
  }
  for (std::int64_t i = 0; i < 3 * k; ++i) f.b.set_value(i, i % 3 == 0 ? 1 : i % 3 == 1 ? 0.7 : -1.3);
  return f;
}

TEST(Tracked, LongSumsOfPositiveTermsStayInTheirBounds) {
  const std::int64_t k = 1 << 18;
  for (const DType input : {DType::f32, DType::bf16}) {
    for (const bool known : {true, false}) {
      const ArithmeticModel actual = model_of(input, DType::f32, {});
      ArithmeticModel claimed = actual;
      if (!known) claimed.accumulation.reset();
      for (const std::uint64_t seed : {1, 2}) {
        const Factors f = make_factors(input, Fill::positive, seed, 2, 2, k);
        const Value got = emulate(actual, f.a, f.b), want = track(claimed, f.a, f.b);
        for (std::size_t i = 0; i < got.v.size(); ++i) {
          const double error = std::fabs(got.v[i] - want.v[i]), sigma = std::sqrt(want.variance[i]);
          EXPECT_LE(error, 8 * sigma + want.systematic[i]) << to_string(claimed) << " seed " << seed;
          EXPECT_GT(want.systematic[i], sigma / 4);
          EXPECT_LT(want.systematic[i], want.hard[i] / 100);
        }
      }
    }
  }
}

TEST(Tracked, ErrorsOfNearlyEqualTermsAddUp) {
  double worst_without = 0;
  for (const double eps : {0.0, 1e-6, 1e-4, 1e-3, 0.3}) {
    for (const std::int64_t k : {300, 20000}) {
      const Factors f = nearly_equal(k, eps);
      for (const SummationOrder& order : all_orders()) {
        for (const bool known : {true, false}) {
          const ArithmeticModel actual = model_of(DType::f32, DType::f32, order, MultiplyAdd::separate);
          ArithmeticModel claimed = actual;
          if (!known) claimed.accumulation.reset();
          const Value got = emulate(actual, f.a, f.b), want = track(claimed, f.a, f.b);
          for (std::size_t i = 0; i < got.v.size(); ++i) {
            const double error = std::fabs(got.v[i] - want.v[i]), spread = 8 * std::sqrt(want.variance[i]);
            EXPECT_LE(error, want.hard[i]) << to_string(actual) << eps << " " << k;
            EXPECT_LE(error, spread + want.systematic[i]) << to_string(actual) << eps << " " << k << known;
            worst_without = std::max(worst_without, error / spread);
            // Little is added where terms differ by far more than the spacing of their sum.
            if (eps == 0.3) {
              EXPECT_LE(want.systematic[i], k == 300 ? 0 : spread / 4) << to_string(claimed) << k;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(worst_without, 5);  // the spread alone does not hold
}

TEST(Tracked, AWrongModelIsSeen) {
  // fp16 accumulation claimed to be fp32: beyond the hard bound. A truncating adder claimed to round to
  // nearest: far outside the spread, by its bias. fp32 claimed to be fp64: beyond the hard bound.
  const ArithmeticModel f32_model = model_of(DType::f16, DType::f32, {});
  EXPECT_GT(measure(model_of(DType::f16, DType::f16, {}), f32_model, Fill::normal, 512).worst_hard, 1);
  const ArithmeticModel truncating = model_of(DType::f16, DType::f32, {}, MultiplyAdd::multi_term);
  EXPECT_GT(measure(truncating, f32_model, Fill::positive, 1024).rms, 2);
  EXPECT_GT(measure(f32_model, truncating, Fill::positive, 1024).rms, 8);
  const ArithmeticModel f64_model = model_of(DType::f16, DType::f64, {});
  EXPECT_GT(measure(f32_model, f64_model, Fill::normal, 512).worst_hard, 1);
}

TEST(Tracked, FlushedDenormalsStayInTheBounds) {
  for (const Denormals claim : {Denormals::flush, Denormals::either}) {
    for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate}) {
      ArithmeticModel actual = model_of(DType::f32, DType::f32, {}, how);
      actual.denormals = Denormals::flush;
      ArithmeticModel claimed = actual;
      claimed.denormals = claim;
      const Spread spread = measure(actual, claimed, Fill::subnormal, 40);
      EXPECT_LE(spread.worst_hard, 1);
      EXPECT_LE(spread.worst_expected, 1);
    }
  }
  // And a device that flushes is not excused when its model says it keeps them.
  ArithmeticModel actual = model_of(DType::f32, DType::f32, {});
  const ArithmeticModel claimed = actual;
  actual.denormals = Denormals::flush;
  const Tensor a = tensor_of(DType::f32, {1, 1}, {0x1p-70}), b = tensor_of(DType::f32, {1, 1}, {0x1p-60});
  EXPECT_GT(std::fabs(emulate(actual, a, b).v[0] - 0x1p-130), track(claimed, a, b).hard[0]);
}

TEST(Tracked, FlushedInputsAreCountedElementByElement) {
  ArithmeticModel model = model_of(DType::f16, DType::f32, {});
  model.denormals = Denormals::either;
  const Tensor a = tensor_of(DType::f16, {2, 2}, {0x1p-20, 1, 1, 1});
  const Tensor b = tensor_of(DType::f16, {2, 2}, {8, 1, 1, 0x1p-24});
  const Value c = track(model, a, b);
  EXPECT_NEAR(c.systematic[0], 0x1p-17, 1e-9);
  EXPECT_NEAR(c.systematic[1], 0x1p-20 + 0x1p-24, 1e-9);
  EXPECT_LT(c.systematic[2], 1e-30);
  EXPECT_NEAR(c.systematic[3], 0x1p-24, 1e-11);
}

TEST(Tracked, NarrowMultiplyFormatIsInTheBounds) {
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
    ArithmeticModel model = model_of(DType::f32, DType::f32, {});
    const ArithmeticModel plain = model;
    model.precision.multiply = tf32_format;
    model.multiply_rounding = rounding;
    for (const Fill fill : {Fill::normal, Fill::positive, Fill::wide}) {
      const Spread spread = measure(model, model, fill, 200);
      EXPECT_LE(spread.worst_hard, 1);
      EXPECT_LE(spread.worst_expected, 1);
    }
    EXPECT_GT(measure(model, plain, Fill::normal, 200).worst_hard, 1);
  }
}

}  // namespace
}  // namespace parity
