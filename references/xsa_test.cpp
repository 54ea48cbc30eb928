// xsa and xsa_backward: golden vectors, gradients, NaN cones, bounds.
#include <gtest/gtest.h>

#include "references/gradient_testing.hpp"
#include "references/reference_testing.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

Attributes heads(Index heads, Index kv_heads) {
  return {{"heads", heads}, {"kv_heads", kv_heads}};
}

TEST(XsaVectors, ForwardAndBackward) {
  const Vectors vectors("xsa_vectors.safetensors");
  EXPECT_EQ(vectors.cases().size(), 3u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    const Attributes attributes =
        heads(static_cast<Index>(number_after(name, "h")), static_cast<Index>(number_after(name, "_kv")));
    for (const Index pad : {0, 3}) {
      const auto get = [&](const char* port) { return strided(*vectors.get(name, port), pad); };
      const Tensor y = get("Y"), v = get("V"), d_o = get("dO");
      const auto forward = evaluate_exact("xsa", attributes, {&y, &v});
      ASSERT_EQ(forward.size(), 1u);
      expect_close(forward[0], *vectors.get(name, "O"), 1);
      const auto backward = evaluate_exact("xsa_backward", attributes, {&y, &v, &d_o});
      ASSERT_EQ(backward.size(), 2u);
      expect_close(backward[0], *vectors.get(name, "dY"), 1);
      expect_close(backward[1], *vectors.get(name, "dV"), 1);
    }
  }
}

TEST(XsaGradients, AgreeWithTheFunction) {
  const OpTable ops = make_op_table();
  for (const auto& [rows, attributes, y, v] :
       {std::tuple{3, heads(4, 2), 12, 6}, {1, heads(1, 1), 3, 3}, {19, heads(3, 1), 15, 5}}) {
    const Tensor a = random_tensor({rows, y}, 1, 0.2, 2), b = random_tensor({rows, v}, 2, 0.4, 2);
    expect_right_gradient(ops, {"xsa", attributes, {a, b}});
    expect_right_gradient(ops, {"xsa", attributes, {a, b}, {0}});
    expect_right_gradient(ops, {"xsa", attributes, {a, b}, {1}});
  }
}

TEST(Xsa, WithoutADirectionNothingIsTakenOff) {
  const Tensor y = random_tensor({2, 6}, 1), d_o = random_tensor({2, 6}, 3);
  Tensor v = random_tensor({2, 3}, 2);
  for (Index c = 0; c < 3; ++c) v.set_value(c, 0);
  const auto forward = evaluate_exact("xsa", heads(2, 1), {&y, &v});
  const auto backward = evaluate_exact("xsa_backward", heads(2, 1), {&y, &v, &d_o});
  for (Index i = 0; i < 6; ++i) {
    EXPECT_EQ(forward[0].v[static_cast<std::size_t>(i)], y.value(i));
    EXPECT_EQ(backward[0].v[static_cast<std::size_t>(i)], d_o.value(i));
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(backward[1].v[i], 0);
}

TEST(Xsa, NothingIsNothing) {
  const Tensor y = random_tensor({0, 6}, 1), v = random_tensor({0, 3}, 2);
  EXPECT_EQ(evaluate_exact("xsa", heads(2, 1), {&y, &v})[0].size(), 0);
  EXPECT_EQ(evaluate_exact("xsa_backward", heads(2, 1), {&y, &v, &y})[1].size(), 0);
}

TEST(Xsa, ANaNStaysInItsTokenAndGroup) {
  const Tensor y = random_tensor({3, 8}, 1), d_o = random_tensor({3, 8}, 3);
  Tensor v = random_tensor({3, 4}, 2);
  v.set_value(1 * 4 + 2, NAN);  // token 1, kv head 1: heads 2 and 3
  const auto forward = evaluate_exact("xsa", heads(4, 2), {&y, &v});
  const auto backward = evaluate_exact("xsa_backward", heads(4, 2), {&y, &v, &d_o});
  for (std::size_t i = 0; i < 24; ++i) {
    const bool reached = i / 8 == 1 && i % 8 >= 4;
    EXPECT_EQ(std::isnan(forward[0].v[i]), reached);
    EXPECT_EQ(std::isnan(backward[0].v[i]), reached);
  }
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(backward[1].v[i]), i / 4 == 1 && i % 4 >= 2);
}

TEST(Xsa, EmulatedLiesWithinTheHardBound) {
  std::vector<double> forward, backward;
  // At the first timestep the output of attention is V itself: the result is all rounding.
  for (const bool parallel : {false, true}) {
    for (const double size : {2.0, 1e-12, 1e12}) {
      const Tensor v = *convert(random_tensor({9, 2 * 16}, 2, 0, size), DType::f32);
      const Tensor y = parallel ? v : *convert(random_tensor({9, 2 * 16}, 1, 0, 2), DType::f32);
      const Tensor d_o = *convert(random_tensor({9, 2 * 16}, 3, 0, 2), DType::f32);
      for (const ArithmeticModel& model : fp32_models()) {
        for (const double x : expect_within_hard_bound(model, "xsa", heads(2, 2), {&y, &v}))
          forward.push_back(x);
        for (const double x : expect_within_hard_bound(model, "xsa_backward", heads(2, 2), {&y, &v, &d_o}))
          backward.push_back(x);
      }
    }
  }
  EXPECT_GT(median(forward), 0.001);
  EXPECT_GT(median(backward), 0.001);
  RecordProperty("median_forward", std::to_string(median(forward)));
  RecordProperty("median_backward", std::to_string(median(backward)));
}

TEST(Xsa, ShapeRuleNamesWhatIsWrong) {
  EXPECT_EQ(infer_error("xsa", heads(4, 2), {Shape{3, 8}, Shape{3, 4}}), "");
  EXPECT_NE(infer_error("xsa", heads(4, 3), {Shape{3, 8}, Shape{3, 6}}).find("kv_heads = 3"),
            std::string::npos);
  EXPECT_NE(infer_error("xsa", heads(3, 1), {Shape{3, 8}, Shape{3, 4}}).find("heads = 3"), std::string::npos);
  EXPECT_NE(infer_error("xsa", heads(4, 2), {Shape{3, 8}, Shape{3, 8}}).find("V has shape"),
            std::string::npos);
  EXPECT_NE(infer_error("xsa_backward", heads(1, 1), {Shape{3, 8}, Shape{3, 8}, Shape{2, 8}}).find("dO has"),
            std::string::npos);
}

}  // namespace
}  // namespace parity
