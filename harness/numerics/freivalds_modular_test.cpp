// Freivalds' check modulo 2^32: healthy products that wrap around leave no finding, every planted error does.
#include "harness/numerics/freivalds_modular.hpp"

#include <gtest/gtest.h>

#include "harness/numerics/integer_matmul.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

/// D = A B + C with C near the ends of int32: many sums leave it.
class ModularCheck : public ::testing::Test {
 protected:
  static constexpr std::int64_t m = 70, n = 130, k = 300;

  ModularCheck() {
    FillRequest request{Fill::uniform, FillRole::left, 7, 0, 1, k, DType::i32, DType::i32, false};
    a = *Tensor::create(DType::i8, {m, k});
    fill_tensor(a, request);
    request.role = FillRole::right, request.stream = 1, request.reduction_axis = 0;
    b = *Tensor::create(DType::i8, {k, n});
    fill_tensor(b, request);
    request.fill = Fill::overflow, request.role = FillRole::addend, request.stream = 2;
    request.reduction_axis = -1;
    c = *Tensor::create(DType::i32, {m, n});
    fill_tensor(c, request);
    const auto arithmetic = make_integer_arithmetic(true);
    const Value addend = load_value(c);
    const Value sums = arithmetic->matmul(load_value(a), false, load_value(b), false);
    d = *Tensor::create(DType::i32, {m, n});
    narrow(arithmetic->scale_add(1, sums, 1, &addend).v, d);
  }

  ProductForm form() const {
    return {stored_matrix(a, 0, false), stored_matrix(b, 0, false), 1, 1, stored_matrix(c, 0, false)};
  }
  FreivaldsReport rows(std::uint64_t seed = 1) const {
    return *freivalds_rows(form(), stored_matrix(d, 0, false), integer_model(), {}, {.seed = seed});
  }
  FreivaldsReport columns() const {
    return *freivalds_rows(form().transposed(), stored_matrix(d, 0, true), integer_model(), {}, {});
  }
  /// Adds modulo 2^32.
  void add(std::int64_t row, std::int64_t col, std::uint32_t what) {
    const std::int64_t i = row * n + col;
    d.set_bits(i, static_cast<std::uint32_t>(d.bits(i)) + what);
  }

  Tensor a, b, c, d;
};

TEST_F(ModularCheck, AHealthyProductPasses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(rows(seed).flagged_rows, 0);
    EXPECT_TRUE(rows(seed).integers);
    EXPECT_TRUE(rows(seed).modular);
  }
  EXPECT_EQ(columns().flagged_rows, 0);
}

TEST_F(ModularCheck, WithoutWrapAroundTheSameSumsAreWrong) {
  Contract exact;
  exact.store = DType::i32, exact.exact = true;
  const auto report = freivalds_rows(form(), stored_matrix(d, 0, false), {}, exact, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->integers);
  EXPECT_FALSE(report->modular);
  EXPECT_GT(report->flagged_rows, 0);
}

TEST_F(ModularCheck, OneWrongElementIsSeenWhateverTheError) {
  for (const std::uint32_t error : {1U, ~0U, 2U, 0x10000U, 0x40000000U, 0x80000000U, 0x12345678U}) {
    const Tensor healthy = d;
    add(41, 77, error);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const FreivaldsReport report = rows(seed);
      ASSERT_EQ(report.findings.size(), 1U) << error;
      EXPECT_EQ(report.findings.front().row, 41);
      EXPECT_TRUE(report.findings.front().certain);
      // By the signs: the error itself, or less it.
      const auto residual =
          static_cast<std::uint32_t>(static_cast<std::int64_t>(report.findings.front().residual));
      EXPECT_TRUE(residual == error || residual == 0U - error);
    }
    ASSERT_EQ(columns().findings.size(), 1U);
    EXPECT_EQ(columns().findings.front().row, 77);
    d = healthy;
  }
}

TEST_F(ModularCheck, ErrorsThatCancelAreSeen) {
  const Tensor healthy = d;
  // Signs alone miss half of the first, and every one of the others: 2^31 + 2^31 is 0 with any signs.
  for (const std::uint32_t error : {1U, 0x80000000U}) {
    for (std::int64_t row = 0; row < m; ++row) add(row, row % 60, error), add(row, 60 + row, 0U - error);
    EXPECT_EQ(rows().flagged_rows, m);
    d = healthy;
  }
  EXPECT_TRUE(modular_check_sees(std::vector<double>{0x1p31, -0x1p31, 0, 0}, 1));
  EXPECT_TRUE(modular_check_sees(std::vector<double>{0, 0, 0, 1}, 1));
  EXPECT_FALSE(modular_check_sees(std::vector<double>{0, 0x1p32, 0, 0}, 1));
}

TEST_F(ModularCheck, SaturatedSumsAreSeen) {
  const Value plain = make_exact_arithmetic()->matmul(load_value(a), false, load_value(b), false);
  std::int64_t changed = 0;
  for (std::int64_t i = 0; i < m * n; ++i) {
    const double sum = plain.v[static_cast<std::size_t>(i)] + c.value(i);
    changed += d.value(i) != sum;
    d.set_value(i, sum);  // clamps
  }
  EXPECT_GT(changed, m * n / 100);
  EXPECT_GT(rows().flagged_rows, 0);
}

}  // namespace
}  // namespace parity
