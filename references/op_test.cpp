// Shape rules, work and the hooks of the order experiments.
#include <gtest/gtest.h>

#include "harness/ladder/replay.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

using Shapes = std::vector<std::optional<Shape>>;

std::string refusal(std::string_view op, const Attributes& attributes, const Shapes& shapes) {
  const OpTable ops = make_op_table();
  const auto result = ops.find(op)->infer(attributes, shapes);
  return result ? std::string() : result.error().message;
}

Tensor counted(Shape shape) {
  Tensor tensor = *Tensor::create(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, static_cast<double>(i % 13) - 5);
  return tensor;
}

std::vector<double> values(const Op& op, const Attributes& attributes, const PortTensors& inputs) {
  const auto exact = make_exact_arithmetic();
  return op.evaluate(*exact, attributes, inputs)->front().v;
}

TEST(Ops, GemmShapeRuleNamesWhatIsWrong) {
  const OpTable ops = make_op_table();
  EXPECT_EQ(ops.find("nosuch"), nullptr);
  EXPECT_EQ(*ops.find("gemm")->infer({{"trans_a", std::int64_t{1}}}, Shapes{Shape{7, 3}, Shape{2, 7, 5}, {}}),
            (std::vector<Shape>{{2, 3, 5}}));
  EXPECT_EQ(*ops.find("gemm")->infer({}, Shapes{Shape{0, 3}, Shape{3, 5}, {}}), (std::vector<Shape>{{0, 5}}));
  EXPECT_NE(refusal("gemm", {}, {Shape{2, 3}, Shape{4, 5}, {}}).find("3 columns"), std::string::npos);
  EXPECT_NE(refusal("gemm", {}, {Shape{2, 2, 3}, Shape{3, 3, 5}, {}}).find("batch"), std::string::npos);
  EXPECT_NE(refusal("gemm", {}, {Shape{3}, Shape{3, 5}, {}}).find("A has shape"), std::string::npos);
  EXPECT_NE(refusal("gemm", {{"beta", 1.0}}, {Shape{2, 3}, Shape{3, 5}, {}}).find("C is not given"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", {{"beta", 1.0}}, {Shape{2, 3}, Shape{3, 5}, Shape{5, 2}}).find("C has shape"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", {{"alpha", 0.1}}, {Shape{2, 3}, Shape{3, 5}, {}}).find("fp32"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", {{"alpha", std::int64_t{1}}}, {Shape{2, 3}, Shape{3, 5}, {}}).find("real"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", {{"aplha", 1.0}}, {Shape{2, 3}, Shape{3, 5}, {}}).find("aplha"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", {}, {{}, Shape{3, 5}, {}}).find("must be given"), std::string::npos);
}

TEST(Ops, LinearShapeRuleNamesWhatIsWrong) {
  const OpTable ops = make_op_table();
  EXPECT_EQ(*ops.find("linear")->infer({}, Shapes{Shape{2, 3}, Shape{5, 3}, Shape{5}}),
            (std::vector<Shape>{{2, 5}}));
  EXPECT_NE(refusal("linear", {}, {Shape{2, 3}, Shape{3, 5}, {}}).find("columns"), std::string::npos);
  EXPECT_NE(refusal("linear", {}, {Shape{2, 3}, Shape{5, 3}, Shape{3}}).find("bias"), std::string::npos);
  EXPECT_NE(
      refusal("linear", {{"activation", std::string("gelu")}}, {Shape{2, 3}, Shape{5, 3}, {}}).find("gelu"),
      std::string::npos);
}

TEST(Ops, WorkCountsFlopsAndBytes) {
  const OpTable ops = make_op_table();
  Program program;
  program.tensors = {{"A", DType::f16, {4, 8}, {8, 1}, TensorSpec::Role::input},
                     {"B", DType::f16, {8, 2}, {2, 1}, TensorSpec::Role::input},
                     {"D", DType::f32, {4, 2}, {2, 1}, TensorSpec::Role::output}};
  const OpCall call{"gemm", {}, {0, 1, no_tensor}, {2}};
  const Work work = ops.find("gemm")->work(call, program);
  EXPECT_EQ(work.flops, 4 * 2 * 2 * 8);
  EXPECT_EQ(work.bytes, 2 * (4 * 8 + 8 * 2) + 4 * 4 * 2);
  EXPECT_EQ(ops.find("gemm")->reduction_length(call, program), 8);
}

TEST(Ops, RestrictionGivesTheChosenRowsAndColumns) {
  const OpTable ops = make_op_table();
  const Op& gemm = *ops.find("gemm");
  const Tensor a = counted({2, 7, 5}), b = counted({6, 7}), c = counted({2, 5, 6});
  const Attributes attributes{
      {"trans_a", std::int64_t{1}}, {"trans_b", std::int64_t{1}}, {"alpha", 2.0}, {"beta", 0.5}};
  const std::vector<double> whole = values(gemm, attributes, {&a, &b, &c});
  const std::vector<std::int64_t> rows{4, 0}, cols{5, 2, 2};
  const auto part = gemm.restrict_to(attributes, {&a, &b, &c}, rows, cols);
  ASSERT_TRUE(part && part->size() == 3);
  const std::vector<double> some = values(gemm, attributes, {&(*part)[0], &(*part)[1], &(*part)[2]});
  ASSERT_EQ(some.size(), 12u);
  for (std::size_t batch = 0; batch < 2; ++batch) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        EXPECT_EQ(
            some[(batch * 2 + i) * 3 + j],
            whole[(batch * 5 + static_cast<std::size_t>(rows[i])) * 6 + static_cast<std::size_t>(cols[j])]);
      }
    }
  }
  const auto all = gemm.restrict_to(attributes, {&a, &b, &c}, {}, {});
  EXPECT_EQ(values(gemm, attributes, {&(*all)[0], &(*all)[1], &(*all)[2]}), whole);
}

TEST(Ops, AllOfAResultIsReplayedInBandsOfRows) {
  const OpTable ops = make_op_table();
  const Tensor a = counted({700, 9}), b = counted({9, 40});
  Attributes attributes{{"alpha", 0.75}};
  ArithmeticModel model;
  model.accumulation = Accumulation{};
  CallResult call{ops.find("gemm"), &attributes, {&a, &b, nullptr}, 0, nullptr};
  Tensor got = *Tensor::create(DType::f32, {700, 40});
  const std::vector<double> want = values(*call.op, attributes, call.inputs);  // exact: small integers
  for (std::int64_t i = 0; i < got.elements(); ++i) got.set_value(i, want[static_cast<std::size_t>(i)]);
  call.got = &got;
  ReplaySample bands;
  bands.held = 1;
  for (const std::int64_t wrong : {0, 255 * 40 + 3, 256 * 40, 700 * 40 - 1}) {
    EXPECT_TRUE(replay(call, model, bands)->all_equal());
    const std::uint64_t bits = got.bits(wrong);
    got.set_bits(wrong, bits ^ 1);
    for (const ReplaySample& all : {bands, ReplaySample{}}) {
      const auto result = replay(call, model, all);
      EXPECT_EQ(result->compared, 700 * 40);
      EXPECT_EQ(result->elements, 700 * 40);
      EXPECT_EQ(result->equal, 700 * 40 - 1) << "element " << wrong;
    }
    got.set_bits(wrong, bits);
  }
}

}  // namespace
}  // namespace parity
