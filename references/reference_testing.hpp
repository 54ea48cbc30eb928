#pragma once
// Shared by the tests of the references.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "references/op_table.hpp"

namespace parity {

/// Evaluates an op whose call must be legal; the values must have the sizes that infer says.
inline std::vector<Value> evaluate_op(Arithmetic& arithmetic, std::string_view name,
                                      const Attributes& attributes, const PortTensors& inputs) {
  const OpTable ops = make_op_table();
  const Op* op = ops.find(name);
  EXPECT_NE(op, nullptr) << name;
  if (op == nullptr) return {};
  std::vector<std::optional<Shape>> shapes;
  for (const Tensor* input : inputs)
    shapes.push_back(input != nullptr ? std::optional(input->shape()) : std::nullopt);
  const auto inferred = op->infer(attributes, shapes);
  EXPECT_TRUE(inferred.has_value()) << (inferred ? "" : inferred.error().message);
  auto values = op->evaluate(arithmetic, attributes, inputs);
  EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().message);
  if (!inferred || !values) return {};
  EXPECT_EQ(values->size(), inferred->size());
  for (std::size_t port = 0; port < std::min(values->size(), inferred->size()); ++port) {
    const Shape& shape = (*inferred)[port];
    EXPECT_EQ((*values)[port].size(), *element_count(shape)) << name << ", output " << port;
    EXPECT_EQ((*values)[port].cols, shape.back()) << name << ", output " << port;
  }
  return std::move(*values);
}

inline std::vector<Value> evaluate_exact(std::string_view name, const Attributes& attributes,
                                         const PortTensors& inputs) {
  return evaluate_op(*make_exact_arithmetic(), name, attributes, inputs);
}

/// The message of an evaluate that must fail.
inline std::string evaluate_error(std::string_view name, const Attributes& attributes,
                                  const PortTensors& inputs) {
  const OpTable ops = make_op_table();
  const auto values = ops.find(name)->evaluate(*make_exact_arithmetic(), attributes, inputs);
  return values ? std::string() : values.error().message;
}

/// The message of an infer that must fail.
inline std::string infer_error(std::string_view name, const Attributes& attributes,
                               const std::vector<std::optional<Shape>>& shapes) {
  const OpTable ops = make_op_table();
  const auto result = ops.find(name)->infer(attributes, shapes);
  return result ? std::string() : result.error().message;
}

/// Within 1e-12 of the largest wanted magnitude, or of `magnitude` where that is larger.
inline void expect_close(const Value& got, const Tensor& want, double magnitude = 0) {
  ASSERT_EQ(got.size(), want.elements());
  for (std::int64_t i = 0; i < want.elements(); ++i)
    magnitude = std::max(magnitude, std::fabs(want.value(i)));
  for (std::int64_t i = 0; i < want.elements(); ++i)
    EXPECT_NEAR(got.v[static_cast<std::size_t>(i)], want.value(i), 1e-12 * magnitude) << "element " << i;
}

/// An i32 tensor of the integers that `tensor` holds.
inline Tensor as_indices(const Tensor& tensor) {
  return *convert(tensor, DType::i32);
}

/// The number after `key` in a case's name.
inline double number_after(const std::string& text, const std::string& key) {
  return std::stod(text.substr(text.find(key) + key.size()));
}

/// fp32 throughout, functions as accurate as CUDA's.
inline ArithmeticModel fp32_model(SummationOrder order, MultiplyAdd multiply_add = MultiplyAdd::fused) {
  ArithmeticModel model;
  model.accumulation = Accumulation{order, multiply_add, {}};
  model.exp.base_ulp = 2;
  model.log.base_ulp = 1;
  return model;
}
inline std::vector<ArithmeticModel> fp32_models() {
  return {fp32_model({SummationOrder::Kind::sequential, 0, 0}),
          fp32_model({SummationOrder::Kind::strided, 32, 0}),
          fp32_model({SummationOrder::Kind::sequential, 0, 0}, MultiplyAdd::separate)};
}

/// The emulated results must lie within the tracked hard bound of the tracked values, and those must be the
/// exact ones. Returns the quotients error / hard of all elements with a finite bound above zero, for the
/// record.
inline std::vector<double> expect_within_hard_bound(const ArithmeticModel& model, std::string_view name,
                                                    const Attributes& attributes, const PortTensors& inputs) {
  std::vector<double> quotients;
  auto emulated = make_emulated_arithmetic(model);
  EXPECT_TRUE(emulated.has_value());
  if (!emulated) return quotients;
  const auto want = evaluate_exact(name, attributes, inputs);
  const auto bound = evaluate_op(*make_tracked_arithmetic(model), name, attributes, inputs);
  const auto got = evaluate_op(**emulated, name, attributes, inputs);
  for (std::size_t port = 0; port < got.size() && port < bound.size() && port < want.size(); ++port) {
    EXPECT_EQ(bound[port].hard.size(), bound[port].v.size()) << name << ", output " << port;
    if (bound[port].hard.size() != bound[port].v.size()) continue;
    double largest = 0;
    for (const double v : want[port].v) largest = std::max(largest, std::fabs(v));
    std::size_t outside = 0;
    for (std::size_t i = 0; i < got[port].v.size(); ++i) {
      const double error = std::fabs(got[port].v[i] - bound[port].v[i]), hard = bound[port].hard[i];
      // Both are fp64; what their rounding does is 2^-29 of what an fp32 device's may do.
      EXPECT_NEAR(bound[port].v[i], want[port].v[i], std::max(1e-12 * largest, 0x1p-24 * hard));
      // 2^-40: the reference's own rounding, in both arithmetics.
      if (!(error <= hard * (1 + 0x1p-40))) ++outside;
      if (hard > 0 && std::isfinite(hard)) quotients.push_back(error / hard);
    }
    EXPECT_EQ(outside, 0u) << name << ", output " << port << ", " << to_string(*model.accumulation);
  }
  return quotients;
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace parity
