// What ops defined as data check, count and offer to the experiments.
#include "references/defined_op.hpp"

#include <gtest/gtest.h>

#include "references/gradient_testing.hpp"
#include "references/reference_testing.hpp"

namespace parity {
namespace {

void expect_refused(std::string_view op, const Attributes& attributes,
                    const std::vector<std::optional<Shape>>& shapes, std::string_view with) {
  const std::string message = infer_error(op, attributes, shapes);
  EXPECT_NE(message.find(with), std::string::npos) << op << ": '" << message << "' lacks '" << with << "'";
  EXPECT_TRUE(message.starts_with(op)) << message;
}

TEST(DefinedOps, RefuseWrongAttributes) {
  const Shape x{3, 4};
  expect_refused("axpby", {{"gamma", 1.0}}, {x, x}, "no attribute gamma");
  expect_refused("axpby", {{"alpha", std::int64_t{1}}}, {x, x}, "wrong type");
  expect_refused("axpby", {{"alpha", 1e39}}, {x, x}, "must lie in");
  expect_refused("axpby", {{"alpha", std::nan("")}}, {x, x}, "must lie in");
  expect_refused("softcap", {}, {x}, "cap must be given");
  expect_refused("softcap", {{"cap", 0.0}}, {x}, "cap is 0");
  expect_refused("gru_gate", {{"activation", std::string("relu")}}, {x, x}, "sigmoid, tanh");
  expect_refused("rope",
                 {{"head_dim", std::int64_t{4}},
                  {"rotary", std::int64_t{3}},
                  {"seq", std::int64_t{3}},
                  {"pairing", std::string("half_split")}},
                 {x, Shape{3, 1}, Shape{3, 1}}, "even");
  expect_refused("clip_factor", {{"max_norm", -1.0}}, {Shape{3}}, "max_norm");
}

TEST(DefinedOps, RefuseWrongShapes) {
  const Shape x{3, 4};
  expect_refused("mul", {}, {x, Shape{4, 3}}, "Y has shape [4, 3]; it must be [3, 4]");
  expect_refused("mul", {}, {x, std::nullopt}, "input Y must be given");
  expect_refused("scale_by", {}, {x, Shape{3}}, "s has shape");
  expect_refused("gru_gates", {}, {x, Shape{3, 12}, x}, "A has shape [3, 4]; it must be [3, 12]");
  expect_refused("gru_blend", {}, {x, x, Shape{3, 5}}, "H has shape");
  expect_refused("rms_norm", {{"eps", 1e-5}}, {x, Shape{3}}, "weight has shape");
  expect_refused("rms_norm", {{"eps", 1e-5}, {"group", std::int64_t{3}}}, {x}, "must divide the 4 columns");
  expect_refused("rms_norm", {{"eps", 1e-5}, {"group", std::int64_t{2}}}, {x, Shape{4}}, "whole row");
  expect_refused("rms_norm", {{"eps", 1e-5}}, {Shape{3, 0}}, "no columns");
  expect_refused("rms_norm_backward", {}, {x, std::nullopt, Shape{3}, x}, "R has shape");
  expect_refused("head_scale", {}, {x, Shape{3}}, "must divide");
  expect_refused("gradient_reduction", {}, {Shape{3}}, "matrix");
  expect_refused("clip_factor", {{"max_norm", 1.0}}, {x}, "S has shape");
}

TEST(DefinedOps, ZeroRowsAreLegal) {
  const Tensor none = *Tensor::create(DType::f32, {0, 4}), three = *Tensor::create(DType::f32, {0, 12});
  const Tensor table = random_tensor({2, 1}, 1), one = *Tensor::create(DType::f32, {0, 1});
  EXPECT_TRUE(evaluate_exact("mul", {}, {&none, &none}).front().v.empty());
  EXPECT_EQ(evaluate_exact("gru_gates", {}, {&three, &three, &none}).size(), 4u);
  EXPECT_TRUE(evaluate_exact("rms_norm", {{"eps", 1e-5}}, {&none}).front().v.empty());
  EXPECT_TRUE(evaluate_exact("rope",
                             {{"head_dim", std::int64_t{4}},
                              {"rotary", std::int64_t{2}},
                              {"seq", std::int64_t{2}},
                              {"pairing", std::string("half_split")}},
                             {&none, &table, &table})
                  .front()
                  .v.empty());
  // Sums of nothing are +0.
  EXPECT_EQ(evaluate_exact("gradient_reduction", {}, {&none}).front().v, std::vector<double>(4, 0.0));
  EXPECT_EQ(evaluate_exact("rms_norm_weight_gradient", {}, {&none, &one, &none}).front().v,
            std::vector<double>(4, 0.0));
  EXPECT_EQ(evaluate_exact("square_sum", {}, {&none}).front().v, std::vector<double>(1, 0.0));
}

TEST(DefinedOps, ANanStaysInTheClippedNorm) {
  Tensor sums = random_tensor({3}, 1);
  sums.set_value(1, std::nan(""));
  const auto clip = evaluate_exact("clip_factor", {{"max_norm", 1.0}}, {&sums});
  EXPECT_TRUE(std::isnan(clip[0].v[0]) && std::isnan(clip[1].v[0]));
}

TEST(DefinedOps, CountWorkOnce) {
  const OpTable ops = make_op_table();
  Program program;
  program.tensors = {{"X", DType::f32, {4, 8}, {64, 1}, TensorSpec::Role::input},
                     {"Y", DType::f32, {4, 8}, {8, 1}, TensorSpec::Role::output},
                     {"R", DType::f32, {4, 2}, {2, 1}, TensorSpec::Role::output}};
  const OpCall call{"rms_norm", {{"eps", 1e-5}, {"group", std::int64_t{4}}}, {0}, {1, 2}};
  ASSERT_TRUE(check_call(*ops.find("rms_norm"), call, program).has_value());
  const Work work = ops.find("rms_norm")->work(call, program);
  EXPECT_EQ(work.flops, 3 * 32);
  EXPECT_EQ(work.bytes, 4 * (32 + 32 + 8));
  EXPECT_EQ(ops.find("rms_norm")->reduction_length(call, program), 4);
}

/// The restricted call's values against the chosen rows and columns of the whole.
void expect_restriction(std::string_view name, const Attributes& attributes, const PortTensors& ports,
                        const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& cols) {
  SCOPED_TRACE(name);
  const OpTable ops = make_op_table();
  const auto part = ops.find(name)->restrict_to(attributes, ports, rows, cols);
  ASSERT_TRUE(part.has_value());
  PortTensors taken;
  for (std::size_t i = 0; i < part->size(); ++i)
    taken.push_back(i < ports.size() && ports[i] != nullptr ? &(*part)[i] : nullptr);
  const Value whole = evaluate_exact(name, attributes, ports).front();
  const Value some = evaluate_exact(name, attributes, taken).front();
  const auto count = [](const std::vector<std::int64_t>& chosen, std::int64_t all) {
    return chosen.empty() ? all : static_cast<std::int64_t>(chosen.size());
  };
  const std::int64_t some_rows = count(rows, whole.rows), some_cols = count(cols, whole.cols);
  ASSERT_EQ(some.size(), some_rows * some_cols);
  for (std::int64_t r = 0; r < some_rows; ++r) {
    for (std::int64_t c = 0; c < some_cols; ++c) {
      const std::int64_t row = rows.empty() ? r : rows[static_cast<std::size_t>(r)];
      const std::int64_t col = cols.empty() ? c : cols[static_cast<std::size_t>(c)];
      EXPECT_EQ(some.v[static_cast<std::size_t>(r * some_cols + c)],
                whole.v[static_cast<std::size_t>(row * whole.cols + col)]);
    }
  }
}

TEST(DefinedOps, RestrictionGivesTheChosenRowsAndColumns) {
  const Tensor x = random_tensor({5, 6}, 1), y = random_tensor({5, 6}, 2), z = random_tensor({5, 6}, 3);
  const Tensor s = random_tensor({1}, 4), gain = random_tensor({3}, 5), r = random_tensor({5, 1}, 6);
  const Tensor vector = random_tensor({6}, 7);
  const std::vector<std::int64_t> rows{3, 0}, cols{5, 1, 1}, all;
  expect_restriction("axpby", {{"alpha", 0.5}}, {&x, &y}, rows, cols);
  expect_restriction("scale_by", {}, {&x, &s}, rows, cols);
  expect_restriction("mul", {}, {&vector, &vector}, all, cols);
  expect_restriction("gru_blend", {}, {&x, &y, &z}, rows, cols);
  expect_restriction("head_scale", {}, {&x, &gain}, rows, all);
  expect_restriction("rms_norm_backward", {}, {&x, nullptr, &r, &y}, rows, all);
  expect_restriction("rms_norm_weight_gradient", {}, {&x, &r, &y}, all, cols);
  expect_restriction("gradient_reduction", {}, {&x}, all, cols);
  const OpTable ops = make_op_table();
  EXPECT_FALSE(ops.find("head_scale")->restrict_to({}, {&x, &gain}, rows, cols).has_value());
  EXPECT_FALSE(ops.find("rms_norm")->restrict_to({{"eps", 1e-5}}, {&x}, rows, all).has_value());
}

}  // namespace
}  // namespace parity
