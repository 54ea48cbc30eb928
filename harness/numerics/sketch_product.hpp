#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "harness/numerics/stored_matrix.hpp"

namespace parity {

/// A few columns that a large matrix is multiplied with, row-major [rows][count].
struct Sketch {
  std::int64_t rows = 0, count = 0;
  std::vector<double> values;
};

/// matrix * sketch and, in the same reading of the matrix, |matrix| * magnitudes and matrix^2 * squares (each
/// elementwise), all [matrix.rows][count].
template <class Sum>
struct SketchProduct {
  std::vector<Sum> product;
  std::vector<double> magnitudes, squares;
  std::int64_t nonfinite = 0;
  double largest = 0,
         smallest = std::numeric_limits<double>::infinity();  ///< magnitude; of non-zero elements
};

/// Parallel over rows; figures do not depend on the number of threads. Sum = int64: exact when every chunk of
/// sketch_chunk terms stays below 2^53 and the whole below 2^63, for which the caller vouches; magnitudes and
/// squares are left out (pass empty sketches).
template <class Sum>
SketchProduct<Sum> sketch_product(const StoredMatrix& matrix, const Sketch& sketch, const Sketch& magnitudes,
                                  const Sketch& squares);
inline constexpr std::int64_t sketch_chunk = 256;

}  // namespace parity
