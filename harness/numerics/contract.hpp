#pragma once
#include <cstdint>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/dtype.hpp"

namespace parity {

/// How the result of one op output is judged; derived from the case and the path's model, never hand-set.
struct Contract {
  DType store = DType::f32;
  /// Integer or selector inputs: the bits of round(v) are required. +0 and -0 count as equal: the sign of a
  /// zero sum depends on the order of summation, which the mathematics does not fix. i32 outputs are always
  /// exact.
  bool exact = false;
  bool order_known = false;          ///< the spread was derived for the path's own order (thin tail)
  bool store_rounding_known = true;  ///< both interval ends may be rounded in that mode
  Rounding store_rounding = Rounding::nearest_even;
  double alpha = 1e-8;  ///< probability of a false alarm per tensor that the tests are set for
  /// The store is narrower than what it stores, so it rounds once more (fp32 accumulator to fp16, say). False
  /// where the last rounding of the accumulation is already part of the tracked variance.
  bool store_rounds = true;
  /// Exact contracts only: a pass becomes `untrusted` when more than this share of the reference elements is
  /// zero (1: never).
  double untrusted_zero_fraction = 1;
};

/// Half-width multiplier of the expected spread for N elements.
/// Order known (Gaussian tail): sqrt(2 ln(2N/alpha)). Order unknown: partial sums are themselves random, the
/// error is a Gaussian with variance int B^2 dt, whose characteristic function 1/sqrt(cosh) decays the tail
/// like exp(-pi/2 |e|), in units of sigma exp(-1.11 |z|): ln(2N/alpha)/1.11 (Cameron & Martin 1944).
double spread_multiplier(std::int64_t elements, const Contract& contract);

/// Factors on the predicted variance in aggregate tests. Single elements are covered by the multiplier above;
/// an aggregate of many elements sees what all of them share, which the mean prediction leaves out.
/// - Position in the binade: one rounding has variance between 0.289^2 and 0.577^2 (u s)^2 against the mean
///   0.41^2; sums of like size (all-positive data) sit at the same place: at most (0.577/0.41)^2 = 1.98 -> 2.
/// - Order unknown: the path of the partial sums may be shared by a whole row or column (low-rank data), so
///   the aggregate has the tail of a single element. The deviate that a Gaussian reaches at 6 sigma
///   (exp(-18)) this distribution reaches at 18 (large deviations: sup t x + ln(cos t)/2 = 18): variance x 9.
///   For the spread itself, int B^2 dt has the tail exp(-pi^2/8 x): 34 times its mean at the same
///   probability.
struct AggregateInflation {
  double bias = 2;
  double spread = 2;
};
AggregateInflation aggregate_inflation(const Contract& contract);

}  // namespace parity
