#include "harness/numerics/judge.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/numerics/common_thresholds.hpp"
#include "harness/numerics/judge_testing.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

/// One element: reference, bounds and what came out.
struct One {
  Value want;
  Contract contract;
  One(DType store, double v, double hard, double sigma) {
    want.rows = want.cols = 1;
    want.v = {v}, want.hard = {hard}, want.variance = {sigma * sigma};
    contract.store = store;
    contract.order_known = true;
  }
  Judgement of(double got, const ReplayResult& replay = {}) const {
    Tensor t = Tensor::create(contract.store, {1, 1}).value();
    t.set_value(0, got);
    return judge(t, want, contract, replay);
  }
  Verdict verdict(double got) const { return of(got).verdict; }
};

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Judge, IntervalOnTheOutputGrid) {
  const double ulp = 0x1p-10;
  One known(DType::f16, 1 + 0.7 * ulp, 0.01 * ulp, 0.001 * ulp);
  EXPECT_EQ(known.verdict(1 + ulp), Verdict::pass);
  EXPECT_EQ(known.verdict(1), Verdict::fail);  // a truncating store
  known.contract.store_rounding_known = false;
  EXPECT_EQ(known.verdict(1 + ulp), Verdict::pass);
  EXPECT_EQ(known.verdict(1), Verdict::pass);
  EXPECT_EQ(known.verdict(1 + 2 * ulp), Verdict::fail);
  EXPECT_EQ(known.verdict(1 - ulp / 2), Verdict::fail);
  known.contract.store_rounding_known = true;
  known.contract.store_rounding = Rounding::toward_zero;
  EXPECT_EQ(known.verdict(1), Verdict::pass);
  EXPECT_EQ(known.verdict(1 + ulp), Verdict::fail);
  known.want.v[0] = -known.want.v[0];
  EXPECT_EQ(known.verdict(-1), Verdict::pass);
  EXPECT_EQ(known.verdict(-1 - ulp), Verdict::fail);
}

TEST(Judge, ZerosThroughoutAreNamedWhereTheyAreBeyondTheBound) {
  const One lost(DType::f32, 1e-6, 1e-9, 1e-10);
  const Judgement judgement = lost.of(0);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_EQ(judgement.reasons.front(),
            "all 1 elements are zero, 1 of them beyond the hard bound: never computed");
  EXPECT_EQ(lost.of(1.1e-6).reasons.front().find("all"), std::string::npos);
  EXPECT_EQ(One(DType::f32, 1e-6, 1e-5, 1e-6).verdict(0), Verdict::pass);  // what underflows
  EXPECT_EQ(One(DType::f32, 0, 0, 0).verdict(0), Verdict::pass);
}

TEST(Judge, SuspectBetweenSpreadAndHardBound) {
  const One x(DType::f32, 1000, 1, 0.01);
  const double lambda = spread_multiplier(1, x.contract);
  EXPECT_NEAR(lambda, std::sqrt(2 * std::log(2e8)), 1e-12);
  EXPECT_EQ(x.verdict(1000 + 0.99 * lambda * 0.01), Verdict::pass);
  EXPECT_EQ(x.verdict(1000 - 1.01 * lambda * 0.01), Verdict::suspect);
  EXPECT_EQ(x.verdict(1001), Verdict::suspect);
  EXPECT_EQ(x.verdict(1001.001), Verdict::fail);
  One unknown = x;
  unknown.contract.order_known = false;
  EXPECT_NEAR(spread_multiplier(1, unknown.contract), std::log(2e8) / 1.11, 1e-12);
  // Never looser than what is certain.
  unknown.want.hard[0] = 0.05;
  EXPECT_EQ(unknown.verdict(1000.06), Verdict::fail);
}

TEST(Judge, BiasMovesTheInterval) {
  One x(DType::f32, 1000, 1, 0.01);
  x.want.mean = {-0.5};
  x.want.systematic = {0};
  EXPECT_EQ(x.verdict(999.5), Verdict::pass);
  EXPECT_EQ(x.verdict(1000), Verdict::suspect);
}

TEST(Judge, InfinityAndNan) {
  // fp16 rounds to infinity from 65520 on.
  EXPECT_EQ(One(DType::f16, 65519, 0.5, 0).verdict(inf), Verdict::fail);
  EXPECT_EQ(One(DType::f16, 65519, 0.5, 0).verdict(65504), Verdict::pass);
  EXPECT_EQ(One(DType::f16, 65519, 2, 0.2).verdict(inf), Verdict::pass);
  EXPECT_EQ(One(DType::f16, 65521, 0.5, 0).verdict(inf), Verdict::pass);
  EXPECT_EQ(One(DType::f16, 65521, 0.5, 0).verdict(65504), Verdict::fail);
  EXPECT_EQ(One(DType::f16, 65521, 0.5, 0).verdict(-inf), Verdict::fail);
  EXPECT_EQ(One(DType::f32, inf, 0, 0).verdict(inf), Verdict::pass);
  EXPECT_EQ(One(DType::f32, inf, 0, 0).verdict(-inf), Verdict::fail);
  EXPECT_EQ(One(DType::f32, inf, 0, 0).verdict(3e38), Verdict::fail);
  EXPECT_EQ(One(DType::f32, inf, 0, 0).verdict(nan), Verdict::fail);
  EXPECT_EQ(One(DType::f32, nan, 0, 0).verdict(nan), Verdict::pass);
  EXPECT_EQ(One(DType::f32, nan, 0, 0).verdict(1), Verdict::fail);
  EXPECT_EQ(One(DType::f32, 1, 0.5, 0.1).verdict(nan), Verdict::fail);
  EXPECT_EQ(One(DType::bf16, 1, 0.5, 0.1).verdict(nan), Verdict::fail);
  // The accumulator may overflow: anything can come out, none of it is expected.
  EXPECT_EQ(One(DType::f32, 1, inf, 0.1).verdict(nan), Verdict::suspect);
  EXPECT_EQ(One(DType::f32, 1, inf, 0.1).verdict(inf), Verdict::suspect);
  EXPECT_EQ(One(DType::f32, 1, inf, 0.1).verdict(1.1), Verdict::pass);
}

TEST(Judge, ExactContractWantsBits) {
  One x(DType::f16, 2049, 100, 10);
  x.contract.exact = true;
  EXPECT_EQ(x.verdict(2048), Verdict::pass);  // ties to even
  EXPECT_EQ(x.verdict(2050), Verdict::fail);
  x.want.v[0] = 0;
  EXPECT_EQ(x.verdict(-0.0), Verdict::pass);
  EXPECT_EQ(x.verdict(0x1p-24), Verdict::fail);
  One i(DType::i32, 7, 100, 10);  // integers are exact without being told
  EXPECT_EQ(i.verdict(7), Verdict::pass);
  EXPECT_EQ(i.verdict(8), Verdict::fail);
  Tensor unwritten = Tensor::create(DType::i32, {1, 1}).value();
  poison_all(unwritten, Poison::unwritten);
  EXPECT_EQ(judge(unwritten, i.want, i.contract, {}).statistics.unwritten, 1);
  // A sum modulo 2^32 may be anything: the ends of the range, and the very pattern of the poison.
  for (const double value : {-2147483648.0, 2147483647.0, unwritten.value(0)}) {
    One any(DType::i32, value, 0, 0);
    any.want.hard.clear();
    EXPECT_EQ(any.verdict(value), Verdict::pass) << value;
    EXPECT_EQ(any.verdict(value < 0 ? value + 1 : value - 1), Verdict::fail) << value;
  }
}

TEST(Judge, MostlyZeroReferencesProveLittle) {
  One x(DType::f32, 0, 0, 0);
  x.contract.exact = true;
  EXPECT_EQ(x.verdict(0), Verdict::pass);
  x.contract.untrusted_zero_fraction = 0.5;
  EXPECT_EQ(x.verdict(0), Verdict::untrusted);
  EXPECT_EQ(x.verdict(1), Verdict::fail);
}

TEST(Judge, Replay) {
  const One x(DType::f32, 1000, 1, 0.01);
  ReplayResult equal{
      .attempted = true, .model = "m", .confirmed = true, .compared = 1, .equal = 1, .note = ""};
  EXPECT_EQ(x.of(1000.5, equal).verdict, Verdict::pass);
  const Judgement disagree = x.of(1002, equal);
  EXPECT_EQ(disagree.verdict, Verdict::fail);
  EXPECT_NE(judge_testing::reasons(disagree).find("reference and model disagree"), std::string::npos);
  ReplayResult unequal = equal;
  unequal.equal = 0;
  EXPECT_EQ(x.of(1000, unequal).verdict, Verdict::fail);
  unequal.confirmed = false;
  EXPECT_EQ(x.of(1000, unequal).verdict, Verdict::pass);
  EXPECT_EQ(x.of(1000.5, unequal).verdict, Verdict::suspect);
}

TEST(Judge, SuspectsAreReplayed) {
  One x(DType::f32, 1000, 1, 0.01);
  Tensor got = Tensor::create(DType::f32, {1, 1}).value();
  got.set_value(0, 1000.5);
  std::vector<std::int64_t> asked;
  const auto with = [&](bool equal) {
    return judge(got, x.want, x.contract, {},
                 [&](const std::vector<std::int64_t>& indices) {
                   asked = indices;
                   return std::vector<bool>(indices.size(), equal);
                 })
        .verdict;
  };
  EXPECT_EQ(with(true), Verdict::pass);
  EXPECT_EQ(asked, std::vector<std::int64_t>{0});
  EXPECT_EQ(with(false), Verdict::fail);
  x.contract.order_known = false;
  x.want.variance[0] = 1e-10;
  EXPECT_EQ(with(false), Verdict::suspect);  // the model is only a guess
}

TEST(Judge, NothingToJudgeWith) {
  One x(DType::f32, 1, 0, 0);
  x.want.hard.clear();
  EXPECT_EQ(x.verdict(1), Verdict::untrusted);
  x.want.rows = 2;
  x.want.v.push_back(1);
  EXPECT_EQ(x.verdict(1), Verdict::fail);
  x.contract.store = DType::f16;
  EXPECT_EQ(judge(Tensor::create(DType::f32, {2, 1}).value(), x.want, x.contract, {}).verdict, Verdict::fail);
}

TEST(Verdicts, NamesAndGravity) {
  for (int i = 0; i <= static_cast<int>(Verdict::timeout); ++i) {
    const auto v = static_cast<Verdict>(i);
    EXPECT_EQ(parse_verdict(name_of(v)), v);
    EXPECT_EQ(worse(v, Verdict::pass), v);
    EXPECT_EQ(worse(Verdict::crash, v), Verdict::crash);
  }
  EXPECT_EQ(parse_verdict("ok"), std::nullopt);
  EXPECT_EQ(worse(Verdict::suspect, Verdict::fail), Verdict::fail);
  EXPECT_EQ(worse(Verdict::unsupported, Verdict::untrusted), Verdict::untrusted);
}

TEST(CommonThresholds, PassAWrongSmallTensorAndFailAHealthyLargeOne) {
  One gradient(DType::f32, 1e-6, 1e-12, 1e-13);
  Tensor zeros = Tensor::create(DType::f32, {1, 1}).value();
  const CommonThresholds small = common_thresholds(zeros, gradient.want);
  EXPECT_TRUE(small.assert_close);
  EXPECT_TRUE(small.allclose);
  EXPECT_FALSE(small.nmse);
  EXPECT_EQ(judge(zeros, gradient.want, gradient.contract, {}).verdict, Verdict::fail);
}

}  // namespace
}  // namespace parity
