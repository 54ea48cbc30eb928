#pragma once
#include <span>

#include "harness/numerics/adder_lanes.hpp"
#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/matrix_product.hpp"
#include "harness/numerics/summation_order.hpp"

namespace parity {

/// c = a b with a multi-term adder accumulating in fp32 (docs/numerics.md, section 2), to the bit: per step
/// the products (exact) and the accumulator are aligned to the largest exponent (a product's is the sum of
/// its operands' exponents, a subnormal's being that of the smallest normal number: measured on an H200, fp16
/// and bf16), truncated toward zero to 2^(emax - fraction_bits), summed exactly, and the sum is truncated to
/// fp32. Each part of `plan` runs from zero, a last step that is short is filled with zeros, and the parts'
/// sums are added in fp32, rounded to nearest. a and b hold numbers of the format `multiply` (at most 24
/// significand bits). c is row-major and contiguous. A NaN or Inf among the inputs gives what IEEE addition
/// gives.
void multi_term_matmul(const MultiTermAdder& adder, const SummationPlan& plan, const FloatFormat& multiply,
                       bool flush, const MatrixView<double>& a, const MatrixView<double>& b, double* c);

/// The same by 32-bit lanes; false, and nothing done, where these do not hold such numbers or such an adder.
bool multi_term_lanes(const AdderLanes& lanes, const MultiTermAdder& adder, const SummationPlan& plan,
                      const FloatFormat& multiply, bool flush, const MatrixView<double>& a,
                      const MatrixView<double>& b, double* c);

/// The same without 32-bit lanes: for numbers and adders that the lanes do not hold, and to compare with.
void multi_term_reference(const MultiTermAdder& adder, const SummationPlan& plan, const FloatFormat& multiply,
                          bool flush, const MatrixView<double>& a, const MatrixView<double>& b, double* c);

/// Sets the elements of c that have a NaN or Inf among their inputs: fp64 addition says which of NaN, Inf and
/// -Inf they are.
void patch_special_values(const MatrixView<double>& a, const MatrixView<double>& b, double* c);

/// One step of such an adder, over any number of products a[i] b[i] and of fp32 sums that it also adds.
/// min_exponent: that of the smallest normal number of the products' factors.
double multi_term_sum(std::span<const double> a, std::span<const double> b, std::span<const double> sums,
                      int min_exponent, int fraction_bits, bool flush);

}  // namespace parity
