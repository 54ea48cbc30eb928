// embedding and embedding_backward: golden vectors, gradient, order of the sums.
#include <gtest/gtest.h>

#include "references/gradient_testing.hpp"
#include "references/reference_testing.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

TEST(EmbeddingVectors, ForwardAndBackward) {
  const Vectors vectors("embedding_vectors.safetensors");
  EXPECT_EQ(vectors.cases().size(), 3u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    for (const Index pad : {0, 3}) {
      const Tensor table = strided(*vectors.get(name, "table"), pad);
      const Tensor dy = strided(*vectors.get(name, "dY"), pad);
      const Tensor ids = as_indices(*vectors.get(name, "ids"));
      const auto y = evaluate_exact("embedding", {}, {&table, &ids});
      ASSERT_EQ(y.size(), 1u);
      const Tensor want = *vectors.get(name, "Y");
      for (Index i = 0; i < want.elements(); ++i)
        EXPECT_EQ(y[0].v[static_cast<std::size_t>(i)], want.value(i)) << "element " << i;
      const auto gradient =
          evaluate_exact("embedding_backward", {{"vocabulary", table.shape()[0]}}, {&ids, &dy});
      ASSERT_EQ(gradient.size(), 1u);
      expect_close(gradient[0], *vectors.get(name, "dTable"), 1);
    }
  }
}

TEST(EmbeddingGradient, AgreesWithTheFunction) {
  const OpTable ops = make_op_table();
  expect_right_gradient(ops, {"embedding", {}, {random_tensor({5, 3}, 1), index_tensor({4, 0, 4, 2, 4, 0})}});
  expect_right_gradient(ops, {"embedding", {}, {random_tensor({1, 1}, 1), index_tensor({0})}});
  expect_right_gradient(ops, {"embedding", {}, {random_tensor({3, 19}, 1), index_tensor({2, 1, 1})}});
}

TEST(Embedding, IsACopyInEveryArithmetic) {
  Tensor table = *convert(random_tensor({3, 4}, 1), DType::f32);
  table.set_value(5, -0.0);
  table.set_value(6, 0x1p-149);
  const Tensor ids = index_tensor({1, 2, 1});
  const auto emulated = make_emulated_arithmetic(fp32_models()[0]);
  const auto y = evaluate_op(**emulated, "embedding", {}, {&table, &ids});
  EXPECT_TRUE(y[0].bits_known);
  for (std::size_t i = 0; i < 12; ++i) {
    const double want = table.value(static_cast<Index>(i / 4 == 1 ? 8 + i % 4 : 4 + i % 4));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(y[0].v[i]), std::bit_cast<std::uint64_t>(want));
  }
  const auto tracked =
      evaluate_op(*make_tracked_arithmetic(fp32_models()[0]), "embedding", {}, {&table, &ids});
  for (const double hard : tracked[0].hard) EXPECT_EQ(hard, 0);
}

TEST(Embedding, GradientHasTheBitsOfASequentialLoop) {
  const Index rows = 301, dim = 5, vocabulary = 17;
  const Tensor dy = *convert(random_tensor({rows, dim}, 2, 0, 2), DType::f32);
  std::vector<Index> ids;
  for (Index row = 0; row < rows; ++row) ids.push_back(row * row * 7 % 13);  // ids 13 to 16 do not occur
  const Tensor index = index_tensor(ids);
  std::vector<float> want(static_cast<std::size_t>(vocabulary * dim), 0.0f);
  for (Index row = 0; row < rows; ++row)
    for (Index c = 0; c < dim; ++c)
      want[static_cast<std::size_t>(ids[static_cast<std::size_t>(row)] * dim + c)] +=
          static_cast<float>(dy.value(row * dim + c));
  for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate}) {
    const auto emulated = make_emulated_arithmetic(fp32_model({SummationOrder::Kind::sequential, 0, 0}, how));
    const auto got =
        evaluate_op(**emulated, "embedding_backward", {{"vocabulary", vocabulary}}, {&index, &dy});
    EXPECT_TRUE(got[0].bits_known);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(got[0].v[i])),
                std::bit_cast<std::uint32_t>(want[i]));
  }
}

TEST(Embedding, ANegativeZeroAloneBecomesAPositiveOne) {
  Tensor dy = *convert(random_tensor({1, 1}, 2), DType::f32);
  dy.set_value(0, -0.0);
  const Tensor ids = index_tensor({0});
  for (const auto& model : fp32_models()) {
    const auto emulated = make_emulated_arithmetic(model);
    const auto got = evaluate_op(**emulated, "embedding_backward", {{"vocabulary", Index{1}}}, {&ids, &dy});
    EXPECT_FALSE(std::signbit(got[0].v[0]));  // +0 + -0
  }
}

TEST(Embedding, ANaNReachesItsIdOnly) {
  Tensor dy = random_tensor({4, 3}, 1);
  dy.set_value(4, NAN);
  const Tensor ids = index_tensor({0, 2, 1, 2});
  const auto got = evaluate_exact("embedding_backward", {{"vocabulary", Index{4}}}, {&ids, &dy});
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(got[0].v[i]), i == 7);
}

TEST(Embedding, NothingAndWrongIndices) {
  const Tensor table = random_tensor({3, 4}, 1), none = index_tensor({}), no_rows = random_tensor({0, 4}, 1);
  EXPECT_EQ(evaluate_exact("embedding", {}, {&table, &none})[0].size(), 0);
  EXPECT_EQ(evaluate_exact("embedding_backward", {{"vocabulary", Index{3}}}, {&none, &no_rows})[0].v,
            std::vector<double>(12, 0.0));
  const Tensor bad = index_tensor({0, 3}), dy = random_tensor({2, 4}, 1);
  EXPECT_NE(evaluate_error("embedding", {}, {&table, &bad}).find("ids[1] is 3"), std::string::npos);
  EXPECT_NE(evaluate_error("embedding_backward", {{"vocabulary", Index{3}}}, {&bad, &dy}).find("ids[1] is 3"),
            std::string::npos);
  EXPECT_NE(infer_error("embedding", {}, {Shape{3, 4}, Shape{2, 2}}).find("ids"), std::string::npos);
  EXPECT_NE(
      infer_error("embedding_backward", {{"vocabulary", Index{3}}}, {Shape{3}, Shape{2, 4}}).find("ids"),
      std::string::npos);
  EXPECT_NE(infer_error("embedding_backward", {}, {Shape{2}, Shape{2, 4}}).find("vocabulary"),
            std::string::npos);
}

TEST(Embedding, EmulatedGradientLiesWithinTheHardBound) {
  std::vector<double> quotients;
  for (const double least : {0.0, 1e4}) {
    const Tensor dy = *convert(random_tensor({99, 4}, 2, least, least + 2), DType::f32);
    std::vector<Index> ids;
    for (Index row = 0; row < 99; ++row) ids.push_back(row % 7);
    const Tensor index = index_tensor(ids);
    for (const ArithmeticModel& model : fp32_models())
      for (const double x :
           expect_within_hard_bound(model, "embedding_backward", {{"vocabulary", Index{8}}}, {&index, &dy}))
        quotients.push_back(x);
  }
  EXPECT_GT(median(quotients), 0.001);
  RecordProperty("median", std::to_string(median(quotients)));
}

}  // namespace
}  // namespace parity
