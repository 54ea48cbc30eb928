#pragma once
#include <cstdint>
#include <vector>

#include "harness/numerics/matrix_product.hpp"

namespace parity {

/// |x| and x^2 of a matrix in fp32, every logical row (or column) multiplied by a power of two that brings
/// its largest magnitude into [1, 2), so that sums of products neither overflow nor lose more than the stated
/// slack. Non-finite elements count as zero (every output they reach is non-finite and carries no bound).
struct ScaledOperand {
  std::vector<float> magnitude, square;
  std::vector<double> unscale;  ///< per row (or column): magnitude * unscale is |x|
  std::int64_t rows = 0, cols = 0, row_stride = 0, col_stride = 0;

  MatrixView<float> magnitudes() const { return {magnitude.data(), rows, cols, row_stride, col_stride}; }
  MatrixView<float> squares() const { return {square.data(), rows, cols, row_stride, col_stride}; }
};

/// Scales along rows (for a left factor) or along columns (for a right factor).
ScaledOperand scale_rows(const MatrixView<double>& m);
ScaledOperand scale_cols(const MatrixView<double>& m);

/// Upper margins of sums of `terms` products computed in fp32 in any order from scaled operands: with
/// computed c, the exact sum is at most c * relative + absolute (still scaled). Terms are non-negative, each
/// with at most four roundings before it is added (operand, square, twice) and `terms` additions: relative =
/// (1 - u)^-(terms + 6). Underflow: every conversion, square and product may lose half a subnormal spacing
/// times a factor below 4.
struct ScaledMargin {
  double relative = 1;
  double absolute = 0;
};
ScaledMargin scaled_margin(std::int64_t terms);

}  // namespace parity
