#pragma once
#include <cstdint>

#include "harness/base/result.hpp"
#include "harness/numerics/accumulation_error.hpp"
#include "harness/numerics/contract.hpp"

namespace parity {

/// What one residual r = sum_j x_j (d_j - exact d_j) is made of: sums over its columns j of the result D =
/// alpha A B + beta C, row i.
struct ResidualSums {
  double columns = 0;
  double squares = 0, magnitudes = 0;                ///< sum_jk of (a_ik b_kj)^2 and of |a_ik b_kj|
  double result_squares = 0, result_magnitudes = 0;  ///< of d_j
  double ulp_squares = 0;                            ///< of the stored spacing at d_j
  double addend_squares = 0, addend_magnitudes = 0;  ///< of c_j
};

/// Expected sum of the squared errors e_j of a healthy row, the certain bound of |r|, and how far the fp64
/// sums behind r may be off.
struct ResidualSpread {
  double accumulation = 0, store = 0;
  double hard = 0, reference = 0;
};

/// D = alpha A B + beta C as the bound needs it.
struct ResidualForm {
  std::int64_t terms = 0;
  double alpha = 1, beta = 0;
  bool adds = false;
};

/// Bounds of Freivalds residuals, from the model and the contract alone; docs/numerics.md, section 7.
///
/// For fixed errors e_j and random signs x_j, P(|r| > l sqrt(sum e_j^2)) <= 2 exp(-l^2/2) (Hoeffding 1963),
/// however the errors hang together, a bias included. So all that is to be known of a healthy row is sum
/// e_j^2; its expectation follows from the row's sums, with the moments of accumulation_error.hpp averaged
/// over the columns:
///  - partial sums along the reduction: mean square S2/3 + V/6 (S2 = sum of the squared products' sums, V =
///  sum of
///    squared products), times the measured `path_factor`;
///  - truncating adders: the mean loss of sums and of products, squared, and its variance.
/// It is inflated as in aggregate tests (aggregate_inflation: 2 with the order known, 34 without).
class ResidualBound {
 public:
  /// Unsupported: an fp64 accumulator (the check computes in fp64 itself).
  static Result<ResidualBound> derive(const ArithmeticModel& model, const Contract& contract,
                                      const ResidualForm& form);

  ResidualSpread of(const ResidualSums& sums, double path_factor) const;
  /// Largest |r| of a healthy row; `residuals`: how many are tested.
  double threshold(const ResidualSpread& spread, double residuals) const;
  /// What the element contract allows an average element of the row, for `elements` in the tensor.
  double element_bound(const ResidualSpread& spread, const ResidualSums& sums, std::int64_t elements) const;
  /// Inputs of smaller magnitude (but not zero) are read in ways this bound does not cover.
  double smallest_input() const;
  /// False where the contract is exact and no rounding is expected.
  bool accumulates() const { return !contract_.exact; }

 private:
  AccumulationError error_;
  Contract contract_;
  ResidualForm form_;
  double unit_ = 0;            ///< of the formats behind the product
  double final_rounding_ = 0;  ///< 1 when a narrower scratch format rounds once more
  double steps_ = 0, path_ = 0;
};

}  // namespace parity
