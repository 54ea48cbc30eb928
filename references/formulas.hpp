#pragma once
#include <string>

#include "harness/ladder/gradient_builder.hpp"
#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity {

// Small pieces that many references and gradient rules share.

/// A real attribute as a device gets it: rounded to fp32 once.
inline double fp32_number(double x) {
  return static_cast<double>(static_cast<float>(x));
}

/// x - y, one rounding.
inline Value difference(Arithmetic& arithmetic, const Value& x, const Value& y) {
  return arithmetic.scale_add(1, x, -1, &y);
}

/// 1 - x, one rounding.
inline Value one_minus(Arithmetic& arithmetic, const Value& x) {
  const Value one = constant(1);
  return arithmetic.scale_add(-1, x, 1, &one);
}

/// The dtype of a tensor's gradient.
inline DType gradient_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// The gradient of input `port` is factor * gradient. A factor of 1 passes it on; else an axpby adds two
/// halves, which rounds once (above the subnormals) and, unlike 0 * gradient as the second term, keeps an
/// infinity.
inline void pass_scaled(GradientBuilder& builder, std::size_t port, double factor, TensorId gradient) {
  if (!builder.wants(port)) return;
  if (factor == 1) return builder.pass_gradient(port, gradient);
  const double half = fp32_number(factor) / 2;
  builder.emit(
      {"axpby", {{"alpha", half}, {"beta", half}}, {gradient, gradient}, {builder.input_gradient(port)}});
}

/// Error when a gradient arrives at an output that is only kept for the backward pass.
inline Result<void> expect_no_gradient(const OpCall& call, const GradientBuilder& builder, std::size_t port,
                                       std::string_view name) {
  if (builder.output_gradient(port) == no_tensor) return {};
  return fail(ErrorKind::unsupported, call.op + ": output " + std::string(name) +
                                          " is kept for the backward pass; it has no gradient");
}

/// Error when the gradient of an input is asked for that the rule does not give.
inline Result<void> expect_unwanted(const OpCall& call, const GradientBuilder& builder, std::size_t port,
                                    std::string_view name) {
  if (!builder.wants(port)) return {};
  return fail(ErrorKind::unsupported,
              call.op + ": there is no rule for the gradient of " + std::string(name));
}

}  // namespace parity
