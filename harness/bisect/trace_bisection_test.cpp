// Traces as an engine writes them: the op that is to blame, with and without kinds, and what looks odd.
#include "harness/bisect/trace_bisection.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "harness/bisect/trace_writer.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

using parity_trace::Type;
using parity_trace::Writer;

class Traces : public ::testing::Test {
 protected:
  Traces() {
    folder_ = std::filesystem::temp_directory_path() /
              ("parity_trace_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~Traces() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static std::vector<float> waves(std::size_t n, double scale = 1) {
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i)
      x[i] = static_cast<float>(scale * std::sin(1.0 + 0.7 * static_cast<double>(i)));
    return x;
  }
  /// Y = X W^T in fp32, as an engine would.
  static std::vector<float> product(const std::vector<float>& x, const std::vector<float>& w, std::size_t m,
                                    std::size_t n, std::size_t k) {
    std::vector<float> y(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < k; ++l) y[i * n + j] += x[i * k + l] * w[j * k + l];
    return y;
  }
  Result<TraceReport> bisect() { return bisect_trace(ops_, folder_); }
  void manifest(const std::string& text) { std::ofstream(folder_ / "manifest.json") << text; }
  std::string error_of(const std::string& text) {
    manifest(text);
    const auto report = bisect();
    return report ? "" : report.error().message;
  }

  OpTable ops_ = make_op_table();
  std::filesystem::path folder_;
};

TEST_F(Traces, AHealthyTraceIsHealthy) {
  Writer writer(folder_.string());
  const auto x = waves(6 * 8), w = waves(5 * 8, 0.3), y = product(x, w, 6, 5, 8);
  writer.op("linear", "",
            {{"X", writer.tensor("x", Type::f32, {6, 8}, x.data())},
             {"W", writer.tensor("w", Type::f32, {5, 8}, w.data())}},
            {{"Y", writer.tensor("y", Type::f32, {6, 5}, y.data())}}, "projection");
  const auto report = bisect();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->report.kind, BisectReport::Kind::healthy);
  EXPECT_EQ(report->judged, 1);
  EXPECT_TRUE(report->patterns.empty()) << report->patterns[0].what;
}

TEST_F(Traces, ProductsOfInt8AreExact) {
  // 127 * 127 * 140,000 leaves int32: what wraps around is right.
  constexpr std::int64_t m = 3, n = 2, k = 140000;
  const std::vector<std::int8_t> a(m * k, 127), b(k * n, 127);
  std::vector<std::int32_t> d(m * n, static_cast<std::int32_t>(127LL * 127 * k - (1LL << 32)));
  const auto write = [&] {
    Writer writer(folder_.string());
    writer.op("gemm", "",
              {{"A", writer.tensor("a", Type::i8, {m, k}, a.data())},
               {"B", writer.tensor("b", Type::i8, {k, n}, b.data())}},
              {{"D", writer.tensor("d", Type::i32, {m, n}, d.data())}}, "quantised");
  };
  write();
  auto report = bisect();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->report.kind, BisectReport::Kind::healthy);
  EXPECT_EQ(report->judged, 1);

  d[3] = std::numeric_limits<std::int32_t>::max();  // an accumulator that saturates
  write();
  report = bisect();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->report.kind, BisectReport::Kind::out_of_contract);
  EXPECT_EQ(report->report.producer->index, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(report->report.producer->examined.cause.kind, CauseKind::wrong_value);
  EXPECT_EQ(report->report.producer->precision, "i32 accumulated, i32 stored");
}

TEST_F(Traces, AWrongElementIsBlamedOnItsOp) {
  Writer writer(folder_.string());
  const auto x = waves(6 * 8), w = waves(5 * 8, 0.3);
  auto y = product(x, w, 6, 5, 8);
  const parity_trace::Ports in{{"X", writer.tensor("x", Type::f32, {6, 8}, x.data())},
                               {"W", writer.tensor("w", Type::f32, {5, 8}, w.data())}};
  writer.op("linear", "", in, {{"Y", writer.tensor("y0", Type::f32, {6, 5}, y.data())}});
  y[17] *= 1.001F;
  writer.op("linear", "", in, {{"Y", writer.tensor("y1", Type::f32, {6, 5}, y.data())}}, "second");
  const auto report = bisect();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->report.kind, BisectReport::Kind::out_of_contract);
  EXPECT_EQ(report->report.producer->call, 1U);
  EXPECT_EQ(report->report.producer->op, "second");
  EXPECT_EQ(report->report.producer->index, (std::vector<std::int64_t>{3, 2}));
}

TEST_F(Traces, AnOverflowAtTheStoreIsNamedAndWhatFollowsPassesItOn) {
  Writer writer(folder_.string());
  const std::vector<std::uint16_t> big(4 * 4, 0x5c00), y(4 * 4, 0x7c00);  // 256 in fp16, and Inf
  const parity_trace::Ports in{{"X", writer.tensor("x", Type::f16, {4, 4}, big.data())},
                               {"W", writer.tensor("w", Type::f16, {4, 4}, big.data())}};
  const std::string out = writer.tensor("y", Type::f16, {4, 4}, y.data());
  writer.op("linear", "", in, {{"Y", out}});
  writer.op("", "", {{"a", out}}, {{"b", writer.tensor("z", Type::f16, {4, 4}, y.data())}}, "softmax");
  const auto report = bisect();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->report.producer);
  EXPECT_EQ(report->report.producer->call, 0U);
  EXPECT_EQ(report->report.producer->examined.cause.kind, CauseKind::store_overflow);
  EXPECT_EQ(report->report.passed_on, std::vector<std::string>{"z.npy"});
}

TEST_F(Traces, WithoutKindsTheFirstNonFiniteTensorAndOddPatternsAreSaid) {
  Writer writer(folder_.string());
  auto a = waves(32 * 32);
  const std::string first = writer.tensor("a", Type::f32, {32, 32}, a.data());
  auto b = a;
  for (std::size_t r = 16; r < 32; ++r)
    for (std::size_t c = 0; c < 16; ++c) b[r * 32 + c] = 0.5F;  // a tile
  const std::string second = writer.tensor("b", Type::f32, {32, 32}, b.data());
  const std::vector<float> zeros(16);
  const std::string third = writer.tensor("c", Type::f32, {4, 4}, zeros.data());
  const std::string fourth = writer.tensor("d", Type::f32, {32, 32}, a.data());
  a[77] = std::numeric_limits<float>::quiet_NaN();
  const std::string fifth = writer.tensor("e", Type::f32, {32, 32}, a.data());
  manifest("{\"parity_trace\": 1, \"tensors\": [\"" + first + "\", \"" + second + "\", \"" + third +
           "\", \"" + fourth + "\", \"" + fifth + "\"]}");
  const auto report = bisect();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->report.producer);
  EXPECT_EQ(report->report.producer->tensor, "e.npy");
  EXPECT_EQ(report->report.producer->index, (std::vector<std::int64_t>{2, 13}));
  ASSERT_EQ(report->patterns.size(), 3U);
  EXPECT_NE(report->patterns[0].what.find("16x16"), std::string::npos);
  EXPECT_EQ(report->patterns[1].what, "all zero");
  EXPECT_EQ(report->patterns[2].what, "the same bits as 'a.npy' before it");
}

TEST_F(Traces, MistakesAreNamed) {
  EXPECT_NE(error_of("[]").find("no JSON object"), std::string::npos);
  EXPECT_NE(error_of("{\"ops\": []}").find("parity_trace"), std::string::npos);
  EXPECT_NE(error_of("{\"parity_trace\": 1}").find("\"ops\" or \"tensors\""), std::string::npos);
  EXPECT_NE(error_of("{\"parity_trace\": 1, \"tensors\": [\"none.npy\"]}").find("none.npy"),
            std::string::npos);
  EXPECT_NE(
      error_of("{\"parity_trace\": 1, \"ops\": [{\"op\": \"linaer\", \"outputs\": {\"Y\": \"y.npy\"}}]}")
          .find("did you mean 'linear'"),
      std::string::npos);
  EXPECT_NE(error_of("{\"parity_trace\": 1, \"ops\": [{\"op\": 3, \"outputs\": {\"Y\": \"y.npy\"}}]}")
                .find("ops[0]: op"),
            std::string::npos);
  Writer writer(folder_.string());
  const auto x = waves(6);
  writer.op("linear", "", {{"X", writer.tensor("x", Type::f32, {2, 3}, x.data())}}, {{"Y", "x.npy"}});
  const auto missing = bisect();
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("needs its input W"), std::string::npos) << missing.error().message;
}

}  // namespace
}  // namespace parity
