#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "harness/numerics/stored_matrix.hpp"

namespace parity {

/// The columns of a matrix cut into ranges of equal width (the last may be shorter).
struct Segments {
  std::int64_t cols = 0, width = 1;
  std::int64_t count() const { return (cols + width - 1) / width; }
  std::int64_t begin(std::int64_t s) const { return s * width; }
  std::int64_t size(std::int64_t s) const { return (s + 1) * width <= cols ? width : cols - s * width; }
};

/// `vectors` rows of n random signs, +1 or -1, from the counter-based generator.
struct RandomSigns {
  std::int64_t n = 0;
  int vectors = 0;
  std::vector<double> x;  ///< [vectors][n]
  const double* operator[](int vector) const { return x.data() + vector * n; }
};
RandomSigns random_signs(std::int64_t n, int vectors, std::uint64_t seed);

/// What a pass looks at besides the sums.
struct ElementChecks {
  DType dtype = DType::f32;
  bool ulps = false;  ///< sum the squares of the elements' spacings in `dtype`
  /// Sum = int64 only: an element counts as an integer when it is one after multiplication by this power of
  /// two and at most integer_limit in magnitude.
  double integer_scale = 1;
};
/// A chunk of at most 2^12 such numbers has a sum below 2^52.
inline constexpr double integer_limit = 0x1p40;

/// Sums over segments of each row, [rows][segments], `dots` [rows][segments][vectors]. Elements that are not
/// finite (Sum = int64: not integers) count as zero and their rows are listed.
template <class Sum>
struct SegmentSums {
  std::vector<Sum> dots;
  std::vector<double> magnitudes, squares, ulp_squares;
  std::vector<std::int64_t> odd_rows;  ///< rows with such an element, ascending
  std::int64_t nonfinite = 0, not_integer = 0;
  double largest = 0;                                         ///< magnitude
  double smallest = std::numeric_limits<double>::infinity();  ///< magnitude of a non-zero element
};

/// One parallel pass over the matrix. The figures do not depend on the number of threads. Sum = double: sums
/// in fp64, of a chunk of segment_chunk elements in four lanes, then chunk by chunk. Sum = int64: the numbers
/// times checks.integer_scale, exact: chunks in fp64 (below 2^53), then in int64.
template <class Sum>
SegmentSums<Sum> segment_sums(const StoredMatrix& matrix, const Segments& segments, const RandomSigns& signs,
                              const ElementChecks& checks);
inline constexpr std::int64_t segment_chunk = 256;

}  // namespace parity
