// softmax_cross_entropy, mean and their backward ops: golden vectors, gradients, NaN cones, bounds.
#include <gtest/gtest.h>

#include "references/gradient_testing.hpp"
#include "references/reference_testing.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

TEST(LossVectors, ForwardAndBackward) {
  const Vectors vectors("loss_vectors.safetensors");
  EXPECT_EQ(vectors.cases().size(), 5u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    for (const Index pad : {0, 3}) {
      const Tensor logits = strided(*vectors.get(name, "logits"), pad);
      const Tensor targets = as_indices(*vectors.get(name, "targets")), d_row = *vectors.get(name, "dRow");
      const auto forward = evaluate_exact("softmax_cross_entropy", {}, {&logits, &targets});
      ASSERT_EQ(forward.size(), 1u);
      expect_close(forward[0], *vectors.get(name, "row_loss"), 1);
      const auto backward = evaluate_exact("softmax_cross_entropy_backward", {}, {&logits, &targets, &d_row});
      ASSERT_EQ(backward.size(), 1u);
      expect_close(backward[0], *vectors.get(name, "dLogits"), 1);
    }
  }
}

TEST(LossGradients, AgreeWithTheFunction) {
  const OpTable ops = make_op_table();
  for (const auto& [rows, classes] : {std::pair<Index, Index>{3, 7}, {1, 2}, {19, 33}}) {
    std::vector<Index> targets;
    for (Index row = 0; row < rows; ++row) targets.push_back(row * 5 % classes);
    expect_right_gradient(
        ops, {"softmax_cross_entropy", {}, {random_tensor({rows, classes}, 7, 0, 3), index_tensor(targets)}});
  }
  for (const Index n : {1, 3, 19}) expect_right_gradient(ops, {"mean", {}, {random_tensor({n}, 8)}});
}

TEST(Loss, NoRowsAndWrongIndices) {
  const Tensor none = random_tensor({0, 4}, 1), no_targets = index_tensor({}),
               no_rows = random_tensor({0}, 1);
  EXPECT_EQ(evaluate_exact("softmax_cross_entropy", {}, {&none, &no_targets})[0].size(), 0);
  EXPECT_EQ(evaluate_exact("softmax_cross_entropy_backward", {}, {&none, &no_targets, &no_rows})[0].size(),
            0);
  const Tensor logits = random_tensor({2, 4}, 1), d_row = random_tensor({2}, 1);
  for (const auto& bad : {index_tensor({0, 4}), index_tensor({0, -1})}) {
    for (const char* op : {"softmax_cross_entropy", "softmax_cross_entropy_backward"})
      EXPECT_NE(evaluate_error(op, {}, {&logits, &bad, &d_row}).find("targets[1]"), std::string::npos);
  }
  EXPECT_NE(infer_error("mean", {}, {Shape{0}}).find("one element"), std::string::npos);
  EXPECT_NE(infer_error("mean", {}, {Shape{2, 2}}).find("vector"), std::string::npos);
  EXPECT_NE(infer_error("mean_backward", {}, {Shape{1}}).find("count"), std::string::npos);
  EXPECT_NE(infer_error("softmax_cross_entropy", {}, {Shape{2, 0}, Shape{2}}).find("one class"),
            std::string::npos);
  EXPECT_NE(infer_error("softmax_cross_entropy", {}, {Shape{2, 3}, Shape{3}}).find("targets"),
            std::string::npos);
}

TEST(Loss, ANaNStaysInItsRow) {
  Tensor logits = random_tensor({3, 4}, 1);
  const Tensor targets = index_tensor({0, 1, 2}), d_row = random_tensor({3}, 2);
  logits.set_value(5, NAN);
  const auto loss = evaluate_exact("softmax_cross_entropy", {}, {&logits, &targets});
  const auto gradient = evaluate_exact("softmax_cross_entropy_backward", {}, {&logits, &targets, &d_row});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(std::isnan(loss[0].v[i]), i == 1);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(gradient[0].v[i]), i / 4 == 1);
}

TEST(Loss, MeanAndItsGradient) {
  const Tensor x = *convert(index_tensor({1, 2, 4}), DType::f64);
  EXPECT_EQ(evaluate_exact("mean", {}, {&x})[0].v, (std::vector<double>{7.0 / 3}));
  const Tensor one = *convert(index_tensor({3}), DType::f64);
  EXPECT_EQ(evaluate_exact("mean_backward", {{"count", Index{4}}}, {&one})[0].v,
            (std::vector<double>(4, 0.75)));
}

TEST(Loss, LargeLogitsDoNotOverflow) {
  const Tensor logits = *convert(random_tensor({2, 5}, 3, 200, 300), DType::f32);
  const Tensor targets = index_tensor({0, 4}), d_row = *convert(random_tensor({2}, 2), DType::f32);
  const auto emulated = make_emulated_arithmetic(fp32_models()[0]);
  for (const auto& value : evaluate_op(**emulated, "softmax_cross_entropy", {}, {&logits, &targets}))
    for (const double x : value.v) EXPECT_TRUE(std::isfinite(x));
  for (const auto& value :
       evaluate_op(**emulated, "softmax_cross_entropy_backward", {}, {&logits, &targets, &d_row}))
    for (const double x : value.v) EXPECT_TRUE(std::isfinite(x));
}

TEST(Loss, EmulatedLiesWithinTheHardBound) {
  std::vector<double> forward, backward;
  for (const double size : {0.0, 1.0, 30.0, 80.0, 3000.0}) {
    SCOPED_TRACE(size);
    const Index rows = 7, classes = 65;
    const Tensor logits = *convert(random_tensor({rows, classes}, 3, 0, size), DType::f32);
    const Tensor d_row = *convert(random_tensor({rows}, 4, 0, 2), DType::f32);
    std::vector<Index> ids;
    for (Index row = 0; row < rows; ++row) ids.push_back(row * 11 % classes);
    const Tensor targets = index_tensor(ids);
    for (const ArithmeticModel& model : fp32_models()) {
      for (const double x : expect_within_hard_bound(model, "softmax_cross_entropy", {}, {&logits, &targets}))
        forward.push_back(x);
      for (const double x :
           expect_within_hard_bound(model, "softmax_cross_entropy_backward", {}, {&logits, &targets, &d_row}))
        backward.push_back(x);
      expect_within_hard_bound(model, "mean", {}, {&d_row});
      const Tensor first = *convert(random_tensor({1}, 5, 0, 2), DType::f32);
      expect_within_hard_bound(model, "mean_backward", {{"count", Index{7}}}, {&first});
    }
  }
  EXPECT_GT(median(forward), 0.001);
  EXPECT_GT(median(backward), 0.001);
  RecordProperty("median_forward", std::to_string(median(forward)));
  RecordProperty("median_backward", std::to_string(median(backward)));
}

}  // namespace
}  // namespace parity
