#pragma once
// Shared by the tests of the arithmetics.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/numerics/arithmetic.hpp"
#include "harness/tensor/fill.hpp"

namespace parity::testing {

inline Tensor make_tensor(DType dtype, Shape shape, Strides strides = {}) {
  auto tensor = Tensor::create(dtype, std::move(shape), std::move(strides));
  EXPECT_TRUE(tensor.has_value());
  return std::move(*tensor);
}

inline Tensor tensor_of(DType dtype, Shape shape, const std::vector<double>& values) {
  Tensor tensor = make_tensor(dtype, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set_value(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

/// Left (M x K) and right (K x N) factors of one case.
struct Factors {
  Tensor a, b;
};
inline Factors make_factors(DType dtype, Fill fill, std::uint64_t seed, std::int64_t m, std::int64_t n,
                            std::int64_t k, DType store = DType::f32, DType accumulate = DType::f32) {
  Factors factors{make_tensor(dtype, {m, k}), make_tensor(dtype, {k, n})};
  FillRequest request;
  request.fill = fill;
  request.seed = seed;
  request.reduction_length = k;
  request.accumulate = accumulate;
  request.store = store;
  request.role = FillRole::left;
  request.reduction_axis = 1;
  fill_tensor(factors.a, request);
  request.role = FillRole::right;
  request.stream = 1;
  request.reduction_axis = 0;
  fill_tensor(factors.b, request);
  return factors;
}

inline ArithmeticModel model_of(DType input, DType accumulate, SummationOrder order,
                                MultiplyAdd multiply_add = MultiplyAdd::fused) {
  ArithmeticModel model;
  model.precision.input = input;
  model.precision.multiply = format_of(input);
  model.precision.accumulate = accumulate;
  if (accumulate == DType::f64) model.precision.scratch = DType::f64;
  model.precision.store = accumulate;
  model.accumulation = Accumulation{order, multiply_add, {}};
  return model;
}

inline std::vector<SummationOrder> all_orders() {
  using Kind = SummationOrder::Kind;
  return {{Kind::sequential, 0, 0}, {Kind::reversed, 0, 0}, {Kind::pairwise, 0, 0}, {Kind::blocked, 8, 0},
          {Kind::blocked, 64, 0},   {Kind::split_k, 4, 0},  {Kind::strided, 32, 0}, {Kind::permuted, 0, 7}};
}

inline Value emulate(const ArithmeticModel& model, const Tensor& a, const Tensor& b) {
  auto arithmetic = make_emulated_arithmetic(model);
  EXPECT_TRUE(arithmetic.has_value()) << (arithmetic ? "" : arithmetic.error().message);
  if (!arithmetic) return {};
  return (*arithmetic)->matmul((*arithmetic)->load(a), false, (*arithmetic)->load(b), false);
}

inline Value track(const ArithmeticModel& model, const Tensor& a, const Tensor& b) {
  const auto arithmetic = make_tracked_arithmetic(model);
  return arithmetic->matmul(arithmetic->load(a), false, arithmetic->load(b), false);
}

}  // namespace parity::testing
