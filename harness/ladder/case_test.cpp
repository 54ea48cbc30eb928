#include "harness/ladder/case.hpp"

#include <gtest/gtest.h>

#include "harness/ladder/stage.hpp"

namespace parity {
namespace {

class CaseText : public ::testing::Test {
 protected:
  StageTable stages = make_stage_table(OpTable({}));
  std::string error_of(std::string_view text) {
    const auto c = parse_case(text, stages);
    return c ? std::string("no error") : c.error().message;
  }
};

TEST_F(CaseText, PrintsCanonically) {
  const auto c = parse_case("gemm  seed=7 k=588 m=64 n=63 ta=t alpha=0.50 in=fp16 fill=normal", stages);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(print_case(*c, stages),
            "gemm m=64 n=63 k=588 ta=t alpha=0.5 in=f16 acc=f32 out=f16 fill=normal seed=7");
}

TEST_F(CaseText, ParseAndPrintAreInverse) {
  const auto cases = expand_pattern(
      "gemm m={0,1,63} n=7 k={1,588} batch={1,3} ta={n,t} alpha={1,-0.1,1e-3} beta={0,0.7} "
      "in={f16,bf16,f32,f64} "
      "fill={normal,nan_cone} seed={0,18446744073709551615}",
      stages);
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(cases->size(), 3u * 2 * 2 * 2 * 3 * 2 * 4 * 2 * 2);
  for (const Case& c : *cases) {
    const std::string text = print_case(c, stages);
    const auto again = parse_case(text, stages);
    ASSERT_TRUE(again) << text << ": " << again.error().message;
    EXPECT_EQ(*again, c) << text;
    EXPECT_EQ(print_case(*again, stages), text);
  }
}

TEST_F(CaseText, ExpandsListsAndRangesLastWordFastest) {
  const auto cases = expand_pattern("linear m=1 n=2 k={3,5} seed={1..2}  # a comment", stages);
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 4u);
  EXPECT_EQ((*cases)[1].parameters.integer("k"), 3);
  EXPECT_EQ((*cases)[1].seed, 2u);
  EXPECT_EQ((*cases)[2].parameters.integer("k"), 5);
}

TEST_F(CaseText, EmptyLinesAndCommentsAreNoCases) {
  for (const char* line : {"", "   ", "# gemm m=1 n=1 k=1"})
    EXPECT_EQ(expand_pattern(line, stages)->size(), 0u);
}

TEST_F(CaseText, ErrorsNameTheWordAndWhatItMayBe) {
  EXPECT_NE(error_of("gem m=1 n=1 k=1").find("did you mean 'gemm'"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 n=1").find("needs k="), std::string::npos);
  EXPECT_NE(error_of("gemm m=-1 n=1 k=1").find("m='-1'"), std::string::npos);
  EXPECT_NE(error_of("gemm m=99999999999999999999 n=1 k=1").find("whole number"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 n=1 k=1 aplha=1").find("did you mean 'alpha'"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 n=1 k=1 alpha=nan").find("alpha='nan'"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 n=1 k=1 ta=x").find("may be n, t"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 n=1 k=1 in=fp7").find("in='fp7'"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 n=1 k=1 fill=norml").find("did you mean 'normal'"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 m=2 n=1 k=1").find("given twice"), std::string::npos);
  EXPECT_NE(error_of("gemm m=1 n=1 k={1,2}").find("pattern of 2 cases"), std::string::npos);
  EXPECT_NE(error_of("gemm m={1..999999} n=1 k=1").find("range"), std::string::npos);
  EXPECT_NE(error_of("gemm m={1..1000} n={1..1000} k=1").find("more than 100000"), std::string::npos);
  EXPECT_NE(error_of("gemm m={1 n=1 k=1").find("not closed"), std::string::npos);
  EXPECT_NE(error_of("gemm m").find("name=value"), std::string::npos);
  EXPECT_NE(error_of("").find("empty"), std::string::npos);
}

TEST_F(CaseText, IntegersAreInt8Int32Int32) {
  const auto c = parse_case("gemm m=64 n=63 k=5 beta=1 in=int8 fill=saturated", stages);
  ASSERT_TRUE(c) << c.error().message;
  const std::string text = "gemm m=64 n=63 k=5 beta=1 in=i8 acc=i32 out=i32 fill=saturated seed=1";
  EXPECT_EQ(print_case(*c, stages), text);
  EXPECT_EQ(*parse_case(text, stages), *c);
  EXPECT_TRUE(stages.find("gemm")->exact(*c));
  const std::string sizes = "gemm m=1 n=1 k=1 ";
  for (const char* words :
       {"in=i8 acc=f16", "in=i8 acc=f32", "in=i8 out=f16", "in=f16 acc=i32", "in=f32 out=i32"})
    EXPECT_NE(error_of(sizes + words).find("is in=i8 acc=i32 out=i32"), std::string::npos) << words;
  EXPECT_NE(error_of(sizes + "in=i32").find("in='i32': may be f64, f32, f16 or bf16, or of integers i8"),
            std::string::npos);
  EXPECT_NE(error_of(sizes + "in=i8 out=i8").find("out='i8': may be"), std::string::npos);
  for (const char* fill : {"nan_cone", "wide", "subnormal"})
    EXPECT_NE(error_of(sizes + "in=i8 fill=" + fill).find("integers have no NaN"), std::string::npos) << fill;
  for (const char* words : {"alpha=2", "beta=-1", "alpha=0.5 beta=1"})
    EXPECT_NE(error_of(sizes + "in=i8 " + words).find("alpha=1, beta=0 or 1"), std::string::npos) << words;
  EXPECT_NE(error_of(sizes + "in=i8 gradient=y").find("no derivative"), std::string::npos);
  EXPECT_NE(error_of("linear m=1 n=1 k=1 in=i8").find("rung 'linear' computes in floating point"),
            std::string::npos);
}

TEST_F(CaseText, SuiteErrorsNameTheLine) {
  const auto suite = parse_suite("gemm m=1 n=1 k=1\n\ngemm m=1 n=1 q=1\n", "mine.txt", stages);
  ASSERT_FALSE(suite);
  EXPECT_EQ(suite.error().message.find("mine.txt:3: "), 0u) << suite.error().message;
  const auto twice = parse_suite("gemm m=1 n=1 k=1\ngemm k=1 n=1 m=1", "mine.txt", stages);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->size(), 1u);
}

TEST_F(CaseText, ASuiteMayBeginWithAByteOrderMark) {
  const auto suite = parse_suite("\xef\xbb\xbfgemm m=1 n=1 k=1\n", "mine.txt", stages);
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_EQ(suite->size(), 1u);
}

TEST_F(CaseText, BindTakesDimensionsFromTensors) {
  const Stage& gemm = *stages.find("gemm");
  const Case c = *parse_case("gemm m=1 n=1 k=1 tb=t", stages);
  std::map<std::string, Tensor> inputs;
  inputs["A"] = *Tensor::create(DType::f32, {5, 7});
  inputs["B"] = *Tensor::create(DType::f32, {3, 7});
  const auto bound = gemm.bind(c, inputs);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(print_case(*bound, stages), "gemm m=5 n=3 k=7 tb=t in=f32 acc=f32 out=f32 fill=normal seed=1");
  inputs["B"] = *Tensor::create(DType::f32, {7, 3});
  EXPECT_FALSE(gemm.bind(c, inputs));
  inputs["Q"] = *Tensor::create(DType::f32, {7, 3});
  EXPECT_NE(gemm.bind(c, inputs).error().message.find("no input is called 'Q'"), std::string::npos);
}

}  // namespace
}  // namespace parity
