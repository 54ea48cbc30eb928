#pragma once
#include <vector>

#include "harness/numerics/adder_lanes.hpp"
#include "harness/numerics/matrix_product.hpp"

namespace parity {

/// A matrix in panels of `width` rows, each stored k by k, as the lanes of a multi-term adder read it. Rows
/// beyond the matrix, NaN and Inf are zero.
struct LaneOperand {
  std::int64_t rows = 0, depth = 0, width = 1;
  std::vector<float> value;
  std::vector<std::int16_t> exponent;
  int smallest = 0, largest = 0;  ///< exponents of numbers other than zero; both 0: there is none

  std::int64_t panels() const { return (rows + width - 1) / width; }
  AdderRow panel(std::int64_t index) const {
    return {value.data() + index * depth * width, exponent.data() + index * depth * width};
  }
};

/// Packs m (rows x K), position p from column permutation[p] (empty: p). A number below the format's normal
/// range counts with `min_exponent`.
LaneOperand pack_lanes(const MatrixView<double>& m, const std::vector<std::int64_t>& permutation,
                       std::int64_t width, int min_exponent);

}  // namespace parity
