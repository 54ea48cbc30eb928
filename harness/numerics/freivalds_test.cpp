// Freivalds' check of products: healthy results leave no finding, planted errors do.
#include "harness/numerics/freivalds.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "harness/base/sanitized.hpp"
#include "harness/numerics/judge_testing.hpp"
#include "harness/numerics/segment_sums.hpp"

namespace parity {
namespace {

using namespace judge_testing;
using Kind = SummationOrder::Kind;

ArithmeticModel model_of(const Problem& p) {
  ArithmeticModel model;
  model.precision = {p.input, format_of(p.input), p.accumulate, p.accumulate, p.store};
  if (p.order_known) model.accumulation = p.accumulation;
  model.may_truncate = !p.order_known && p.accumulation.multiply_add == MultiplyAdd::multi_term;
  return model;
}

ProductForm form_of(const Inputs& in) {
  return {stored_matrix(in.a, 0, false), stored_matrix(in.b, 0, false), 1, 0, std::nullopt};
}

struct Product {
  Problem problem;
  Inputs inputs;
  Tensor got;
  bool exact = false;

  FreivaldsReport rows(FreivaldsSettings settings = {}) const {
    return check(form_of(inputs), stored_matrix(got, 0, false), settings);
  }
  FreivaldsReport columns(FreivaldsSettings settings = {}) const {
    return check(form_of(inputs).transposed(), stored_matrix(got, 0, true), settings);
  }
  FreivaldsReport check(const ProductForm& form, const StoredMatrix& result,
                        const FreivaldsSettings& settings) const {
    Contract contract = contract_of(problem);
    contract.exact = exact;
    auto report = freivalds_rows(form, result, model_of(problem), contract, settings);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? *std::move(report) : FreivaldsReport{};
  }
};

Product run_of(const Problem& p, bool exact = false) {
  Product r{p, inputs_of(p), {}, exact};
  r.got = run(p, r.inputs);
  return r;
}

/// The element with the median magnitude: one that stands for all.
std::int64_t typical_element(const Tensor& t) {
  std::vector<std::pair<double, std::int64_t>> sizes;
  for (std::int64_t i = 0; i < t.elements(); ++i) sizes.emplace_back(std::fabs(t.value(i)), i);
  std::nth_element(sizes.begin(), sizes.begin() + t.elements() / 2, sizes.end());
  return sizes[static_cast<std::size_t>(t.elements() / 2)].second;
}

std::string describe(const Problem& p, const FreivaldsReport& report) {
  return fmt::format("fill {}, {} to {}, {} {} {}, {}, order {}, seed {}: ratio {:.3g}, rms {:.3g}",
                     name_of(p.fill), name_of(p.input), name_of(p.store), p.m, p.n, p.k,
                     to_string(p.accumulation), p.order_known ? "known" : "unknown", p.seed,
                     report.largest_ratio, report.rms_deviate);
}

std::vector<Accumulation> orders() {
  std::vector<Accumulation> all;
  for (const SummationOrder& order :
       {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::reversed, 0, 0},
        SummationOrder{Kind::pairwise, 0, 0}, SummationOrder{Kind::blocked, 16, 0},
        SummationOrder{Kind::split_k, 4, 0}, SummationOrder{Kind::strided, 8, 0},
        SummationOrder{Kind::permuted, 0, 5}})
    all.push_back({order, MultiplyAdd::fused, {}});
  all.push_back({{}, MultiplyAdd::separate, {}});
  all.push_back({{}, MultiplyAdd::multi_term, {16, 25}});
  all.push_back({{}, MultiplyAdd::multi_term, {4, 23}});
  return all;
}

TEST(FreivaldsReal, NoFindingInHealthyResults) {
  struct Size {
    std::int64_t m, n, k;
  };
  const Size sizes[] = {{33, 31, 65}, {5, 300, 188}, {64, 1, 7}, {17, 48, 1}, {1, 513, 130}};
  std::uint64_t seed = 1;
  double worst = 0;
  for (const Fill fill : {Fill::normal, Fill::uniform, Fill::positive, Fill::cancelling, Fill::wide,
                          Fill::saturated, Fill::rows_equal, Fill::integer, Fill::selector})
    for (const auto& [input, store] : {std::pair{DType::f16, DType::f16},
                                       {DType::f16, DType::f32},
                                       {DType::bf16, DType::bf16},
                                       {DType::f32, DType::f32}})
      for (const Accumulation& accumulation : orders()) {
        const Size size = sizes[seed % 5];
        const Problem p{.m = size.m,
                        .n = size.n,
                        .k = size.k,
                        .input = input,
                        .store = store,
                        .accumulation = accumulation,
                        .order_known = seed % 3 != 0,
                        .fill = fill,
                        .seed = seed};
        const Product r = run_of(p);
        const FreivaldsSettings settings{2, seed % 4 == 0 ? 1 : 0, seed};
        for (const FreivaldsReport& report : {r.rows(settings), r.columns(settings)}) {
          if (report.nonfinite > 0) continue;  // fp16 results of saturated inputs overflow
          EXPECT_EQ(report.flagged_rows, 0) << describe(p, report);
          EXPECT_FALSE(report.integers);
          worst = std::max(worst, report.largest_ratio);
        }
        ++seed;
      }
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, 0.2);  // and the threshold is not far away from what is seen
}

TEST(FreivaldsReal, PredictedSpreadFitsRandomData) {
  for (const bool known : {true, false}) {
    const Product r =
        run_of({.m = 64, .n = 256, .k = 512, .input = DType::f32, .store = DType::f32, .order_known = known});
    EXPECT_NEAR(r.rows().rms_deviate, 1, 0.25);
    EXPECT_NEAR(r.columns().rms_deviate, 1, 0.25);
  }
  const Product store = run_of({.m = 64, .n = 512, .k = 64});
  EXPECT_NEAR(store.rows().rms_deviate, 0.9, 0.15);
}

TEST(FreivaldsReal, SeesTheErrorThatItSaysIsCertain) {
  for (const bool known : {true, false}) {
    Product r =
        run_of({.m = 48, .n = 512, .k = 256, .input = DType::f32, .store = DType::f32, .order_known = known});
    const FreivaldsReport healthy = r.rows();
    ASSERT_EQ(healthy.flagged_rows, 0);
    EXPECT_GT(healthy.typical_certain_error, healthy.element_bound);
    for (const std::int64_t at :
         {std::int64_t{0}, std::int64_t{511}, std::int64_t{20 * 512 + 300}, std::int64_t{48 * 512 - 1}}) {
      Tensor wrong = r.got;
      wrong.set_value(at, wrong.value(at) + 1.01 * healthy.certain_error);
      std::swap(wrong, r.got);
      const FreivaldsReport report = r.rows();
      ASSERT_EQ(report.flagged_rows, 1);
      EXPECT_EQ(report.findings.front().row, at / 512);
      EXPECT_LE(report.findings.front().first_col, at % 512);
      EXPECT_GE(report.findings.front().last_col, at % 512);
      const FreivaldsReport columns = r.columns();
      ASSERT_EQ(columns.flagged_rows, 1);
      EXPECT_EQ(columns.findings.front().row, at % 512);
      std::swap(wrong, r.got);
    }
  }
}

TEST(FreivaldsReal, OneElementOffByOnePercent) {
  Product r = run_of({.m = 64, .n = 512, .k = 1024, .input = DType::f32, .store = DType::f32});
  const std::int64_t at = typical_element(r.got);
  r.got.set_value(at, 1.01 * r.got.value(at));
  const FreivaldsReport report = r.rows();
  ASSERT_EQ(report.flagged_rows, 1);
  EXPECT_EQ(report.findings.front().row, at / 512);
}

TEST(FreivaldsReal, WholeRowLostAndNonFinite) {
  Product r = run_of({.m = 64, .n = 300, .k = 200});
  for (std::int64_t j = 0; j < 300; ++j) r.got.set_value(17 * 300 + j, 0);
  FreivaldsReport report = r.rows();
  ASSERT_EQ(report.flagged_rows, 1);
  EXPECT_EQ(report.findings.front().row, 17);
  EXPECT_TRUE(report.findings.front().certain);
  r.got.set_value(3 * 300 + 5, std::numeric_limits<double>::quiet_NaN());
  r.got.set_value(3 * 300 + 6, std::numeric_limits<double>::infinity());
  report = r.rows();
  EXPECT_EQ(report.nonfinite, 2);
  ASSERT_EQ(report.flagged_rows, 2);
  EXPECT_EQ(report.findings.front().row, 3);
}

TEST(FreivaldsReal, LastTermLostInOneTile) {
  for (const std::int64_t lost : {1, 32}) {
    Product r = run_of({.m = 128, .n = 256, .k = 512, .input = DType::f16, .store = DType::f32});
    Inputs cut = r.inputs;
    for (std::int64_t k = 512 - lost; k < 512; ++k)
      for (std::int64_t j = 0; j < 256; ++j) cut.b.set_value(k * 256 + j, 0);
    const Tensor without = run(r.problem, cut);
    for (std::int64_t i = 64; i < 128; ++i)
      for (std::int64_t j = 128; j < 192; ++j) r.got.set_bits(i * 256 + j, without.bits(i * 256 + j));
    const FreivaldsReport report = r.rows({2, 4, 1});
    EXPECT_GE(report.flagged_rows, 60);  // of 64: a row's factor of the last term may be next to nothing
    for (const FreivaldsFinding& f : report.findings) {
      EXPECT_GE(f.row, 64);
      EXPECT_EQ(f.first_col, 128);
    }
  }
}

TEST(FreivaldsReal, BandsOfOppositeSignsAlongTheReduction) {
  // The first half of every sum is positive, the second takes it away again: partial sums far above the
  // results.
  const Problem p{
      .m = 32, .n = 300, .k = 512, .input = DType::f32, .store = DType::f32, .fill = Fill::positive};
  Product r{p, inputs_of(p), {}, false};
  for (std::int64_t i = 0; i < 32; ++i)
    for (std::int64_t k = 256; k < 512; ++k)
      r.inputs.a.set_value(i * 512 + k, -r.inputs.a.value(i * 512 + k));
  r.got = run(p, r.inputs);
  EXPECT_EQ(r.rows().flagged_rows, 0) << r.rows().largest_ratio;
  EXPECT_EQ(r.columns().flagged_rows, 0) << r.columns().largest_ratio;
}

TEST(FreivaldsReal, RefusesWhatItCannotJudge) {
  Product r = run_of({.m = 8, .n = 8, .k = 8, .input = DType::f32, .store = DType::f32});
  const auto attempt = [&](const ArithmeticModel& model) {
    return freivalds_rows(form_of(r.inputs), stored_matrix(r.got, 0, false), model, contract_of(r.problem),
                          {});
  };
  ArithmeticModel model = model_of(r.problem);
  model.precision.accumulate = DType::f64;
  EXPECT_FALSE(attempt(model));
  model = model_of(r.problem);
  model.denormals = Denormals::either;
  EXPECT_TRUE(attempt(model));
  r.inputs.a.set_value(3, 1e-40);
  EXPECT_FALSE(attempt(model));
  r.inputs.a.set_value(3, std::numeric_limits<double>::quiet_NaN());
  const auto refused = attempt(model_of(r.problem));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  const Tensor narrow = Tensor::create(DType::f32, {8, 7}).value();
  EXPECT_FALSE(freivalds_rows(form_of(r.inputs), stored_matrix(narrow, 0, false), model_of(r.problem),
                              contract_of(r.problem), {}));
}

Product integers(std::int64_t m, std::int64_t n, std::int64_t k, DType input = DType::f16,
                 DType store = DType::f32) {
  return run_of({.m = m, .n = n, .k = k, .input = input, .store = store, .fill = Fill::integer}, true);
}

TEST(FreivaldsInteger, NoFindingInHealthyResultsAndOneUnitIsAlwaysSeen) {
  std::uint64_t seed = 1;
  for (const DType input : {DType::f32, DType::f16, DType::bf16})
    for (const DType store : {DType::f32, DType::f16, DType::bf16})
      for (const auto& [m, n, k] : {std::tuple{33, 300, 64}, {64, 1, 7}, {1, 64, 700}, {20, 513, 1}}) {
        Product r = integers(m, n, k, input, store);
        for (const FreivaldsReport& report : {r.rows(), r.columns()}) {
          EXPECT_TRUE(report.integers);
          EXPECT_EQ(report.flagged_rows, 0);
          EXPECT_EQ(report.certain_error, 1);
        }
        for (int i = 0; i < (address_sanitized ? 2 : 20); ++i, ++seed) {
          const auto at = static_cast<std::int64_t>(philox(7, seed, 0).word[0]) % (m * n);
          const double healthy = r.got.value(at);
          r.got.set_value(at, healthy + 1);
          if (r.got.value(at) == healthy) continue;
          const FreivaldsReport rows = r.rows({1, 0, seed}), columns = r.columns({1, 0, seed});
          ASSERT_EQ(rows.flagged_rows, 1);
          EXPECT_EQ(rows.findings.front().row, at / n);
          EXPECT_EQ(std::fabs(rows.findings.front().residual), 1);
          ASSERT_EQ(columns.flagged_rows, 1);
          EXPECT_EQ(columns.findings.front().row, at % n);
          r.got.set_value(at, healthy);
        }
      }
}

TEST(FreivaldsInteger, CancellingErrorsSurviveOneVectorInTwo) {
  // +1 and -1 in one segment cancel when their signs are equal: half of the time for each vector.
  Product r = integers(4, 200, 64);
  r.got.set_value(200 + 11, r.got.value(200 + 11) + 1);
  r.got.set_value(200 + 140, r.got.value(200 + 140) - 1);
  constexpr int trials = address_sanitized ? 200 : 2000;
  for (const int vectors : {1, 2, 4}) {
    int missed = 0;
    for (std::uint64_t seed = 1; seed <= trials; ++seed)
      missed += r.rows({vectors, 1, seed}).flagged_rows == 0;
    const double expected = trials * std::ldexp(1.0, -vectors);
    EXPECT_NEAR(missed, expected, 5 * std::sqrt(expected)) << vectors;
    EXPECT_GT(missed, 0) << vectors;
  }
}

TEST(FreivaldsInteger, TailsTilesAndColumns) {
  Product r = integers(64, 300, 128);
  const Tensor healthy = r.got;
  Inputs cut = r.inputs;
  for (std::int64_t k = 112; k < 128; ++k)
    for (std::int64_t j = 0; j < 300; ++j) cut.b.set_value(k * 300 + j, 0);
  const Tensor without = run(r.problem, cut);
  std::int64_t changed = 0;
  for (std::int64_t i = 32; i < 64; ++i) {
    bool differs = false;
    for (std::int64_t j = 64; j < 96; ++j) {
      differs |= r.got.bits(i * 300 + j) != without.bits(i * 300 + j);
      r.got.set_bits(i * 300 + j, without.bits(i * 300 + j));
    }
    changed += differs;
  }
  EXPECT_EQ(r.rows({30, 0, 1}).flagged_rows, changed);
  r.got = healthy;
  for (std::int64_t i = 0; i < 64; ++i) r.got.set_value(i * 300 + 299, r.got.value(i * 300 + 298));
  const FreivaldsReport columns = r.columns();
  ASSERT_EQ(columns.flagged_rows, 1);
  EXPECT_EQ(columns.findings.front().row, 299);
}

TEST(FreivaldsInteger, ResultsThatAreNoIntegersAreFlagged) {
  Product r = integers(16, 40, 32);
  r.got.set_value(5 * 40 + 1, 0.5);
  r.got.set_value(9 * 40 + 39, std::numeric_limits<double>::quiet_NaN());
  r.got.set_value(11 * 40 + 2, 1e30);
  const FreivaldsReport report = r.rows();
  EXPECT_EQ(report.not_integer, 2);
  EXPECT_EQ(report.nonfinite, 1);
  EXPECT_EQ(report.flagged_rows, 3);
}

TEST(FreivaldsInteger, ScaledWithAnAddendTransposedAndStrided) {
  // D = 0.5 A^T B^T + 2 C with pads between the rows of everything.
  const std::int64_t m = 19, n = 300, k = 33;
  Tensor a = Tensor::create(DType::f16, {k, m}, {m + 5, 1}).value();
  Tensor b = Tensor::create(DType::f32, {n, k}, {1, n + 1}).value();
  Tensor c = Tensor::create(DType::f32, {m, n}, {n + 3, 1}).value();
  Tensor d = Tensor::create(DType::f32, {m, n}, {n + 7, 1}).value();
  const auto value = [](std::int64_t i, std::uint64_t stream) {
    return static_cast<double>(below(9, philox(3, static_cast<std::uint64_t>(i), stream).word[0], 0)) - 4;
  };
  for (std::int64_t i = 0; i < m * k; ++i) a.set_value(i, value(i, 1));
  for (std::int64_t i = 0; i < n * k; ++i) b.set_value(i, value(i, 2));
  for (std::int64_t i = 0; i < m * n; ++i) {
    c.set_value(i, value(i, 3));
    double sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += a.value(l * m + i / n) * b.value(i % n * k + l);
    d.set_value(i, 0.5 * sum + 2 * c.value(i));
  }
  ProductForm form{stored_matrix(a, 0, true), stored_matrix(b, 0, true), 0.5, 2, stored_matrix(c, 0, false)};
  Contract contract;
  contract.exact = true;
  const auto check = [&] {
    auto report = freivalds_rows(form, stored_matrix(d, 0, false), {}, contract, {});
    EXPECT_TRUE(report && report->integers);
    return report ? report->flagged_rows : -1;
  };
  EXPECT_EQ(check(), 0);
  d.set_value(4 * n + 7, d.value(4 * n + 7) + 0.5);
  EXPECT_EQ(check(), 1);
  d.set_value(4 * n + 7, d.value(4 * n + 7) - 0.5);
  // A bias: one row that meets all.
  Tensor bias = Tensor::create(DType::f32, {n}).value();
  for (std::int64_t j = 0; j < n; ++j) bias.set_value(j, value(j, 4));
  for (std::int64_t i = 0; i < m * n; ++i) d.set_value(i, d.value(i) - 2 * c.value(i) + bias.value(i % n));
  form.addend = stored_matrix(bias, 0, false).repeated(m);
  form.beta = 1;
  EXPECT_EQ(check(), 0);
  for (std::int64_t i = 0; i < m; ++i) d.set_value(i * n + 8, d.value(i * n + 8) - bias.value(8));
  EXPECT_EQ(check(), bias.value(8) == 0 ? 0 : m);
}

TEST(FreivaldsInteger, TooLargeForInt64IsRefused) {
  Product r = integers(4, 300, 16);
  r.inputs.b.set_value(0, 60000);
  Tensor wide = Tensor::create(DType::f32, {4, 16}).value();
  wide.set_value(0, 0x1p38);
  r.inputs.a = wide;
  Contract contract = contract_of(r.problem);
  contract.exact = true;
  const auto report =
      freivalds_rows(form_of(r.inputs), stored_matrix(r.got, 0, false), model_of(r.problem), contract, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::unsupported);
}

TEST(FreivaldsExact, CopiesOfRealNumbersAreJudgedToTheLastBit) {
  Product r = run_of(
      {.m = 32, .n = 100, .k = 40, .input = DType::f32, .store = DType::f32, .fill = Fill::selector}, true);
  EXPECT_EQ(r.rows().flagged_rows, 0);
  EXPECT_FALSE(r.rows().integers);
  const std::int64_t at = typical_element(r.got);
  r.got.set_bits(at, r.got.bits(at) ^ 1);
  ASSERT_EQ(r.rows().flagged_rows, 1);
  EXPECT_EQ(r.rows().findings.front().row, at / 100);
}

TEST(RandomSigns, AreBalancedAndIndependent) {
  const RandomSigns signs = random_signs(10000, 2, 5);
  double sum = 0, product = 0;
  for (int j = 0; j < 10000; ++j) {
    EXPECT_EQ(std::fabs(signs[0][j]), 1);
    sum += signs[0][j];
    product += signs[0][j] * signs[1][j];
  }
  EXPECT_LT(std::fabs(sum), 500);
  EXPECT_LT(std::fabs(product), 500);
}

}  // namespace
}  // namespace parity
