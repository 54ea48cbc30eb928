#pragma once
#include <span>

#include "harness/numerics/adder_lanes.hpp"
#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/matrix_product.hpp"
#include "harness/numerics/summation_order.hpp"

namespace parity {

/// A multi-term adder, the formats around it, and how it rounds (docs/numerics.md, section 2). Per step the
/// products (exact) and the accumulator are aligned to the largest exponent (a product's is the sum of its
/// operands' exponents, a subnormal's being that of the smallest normal number: measured on an H200, fp16 and
/// bf16), truncated toward zero to 2^(emax - fraction_bits) and summed exactly; the sum is rounded to the
/// accumulate format as the adder says.
struct AdderArithmetic {
  MultiTermAdder adder;
  FloatFormat multiply;           ///< of the factors; at most 24 significand bits
  DType accumulate = DType::f32;  ///< f32 or f16
  bool flush = false;             ///< results below the accumulator's normal range become zero

  static AdderArithmetic of(const ArithmeticModel& model);
  /// Whether the 32-bit lanes round as this does: they cut to fp32.
  bool suits_lanes() const { return accumulate == DType::f32 && adder.rounding == Rounding::toward_zero; }
  /// The exponent that a number of the accumulator counts with; below any product for zero.
  int exponent_of_sum(double sum) const;
  /// `sum` grid steps of 2^(emax - fraction_bits), rounded.
  double rounded(double sum, int emax) const;
  /// Of two numbers of the accumulator, to nearest: where the sums of parts meet.
  double added(double x, double y) const;
};

/// c = a b, to the bit. Each part of `plan` runs from zero, a last step that is short is filled with zeros,
/// and the parts' sums are added in the accumulate format, rounded to nearest. a and b hold numbers of the
/// multiply format, c is row-major and contiguous. A NaN or Inf among the inputs gives what IEEE addition
/// gives.
void multi_term_matmul(const AdderArithmetic& how, const SummationPlan& plan, const MatrixView<double>& a,
                       const MatrixView<double>& b, double* c);

/// The same by 32-bit lanes; false, and nothing done, where these do not hold such numbers or such an adder.
bool multi_term_lanes(const AdderLanes& lanes, const AdderArithmetic& how, const SummationPlan& plan,
                      const MatrixView<double>& a, const MatrixView<double>& b, double* c);

/// The same without 32-bit lanes: for numbers and adders that the lanes do not hold, and to compare with.
void multi_term_reference(const AdderArithmetic& how, const SummationPlan& plan, const MatrixView<double>& a,
                          const MatrixView<double>& b, double* c);

/// Sets the elements of c that have a NaN or Inf among their inputs: fp64 addition says which of NaN, Inf and
/// -Inf they are.
void patch_special_values(const MatrixView<double>& a, const MatrixView<double>& b, double* c);

/// One step of such an adder, over any number of products a[i] b[i] and of sums that it also adds.
double multi_term_sum(const AdderArithmetic& how, std::span<const double> a, std::span<const double> b,
                      std::span<const double> sums);

}  // namespace parity
