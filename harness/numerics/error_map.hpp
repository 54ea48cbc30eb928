#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/contract.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// Where in a matrix the errors are large: the worst error over its bound in each cell of a coarse grid,
/// batch entries on top of each other.
struct ErrorMap {
  static constexpr std::int64_t most_cells = 32;  ///< to a side
  std::int64_t rows = 0, columns = 0;             ///< cells
  std::int64_t cell_rows = 0, cell_columns = 0;   ///< elements of one cell; the last ones may hold fewer
  std::vector<double> ratios;                     ///< rows * columns, as ErrorStatistics::max_bound_ratio

  /// An empty map for a matrix of that size.
  static ErrorMap over(std::int64_t matrix_rows, std::int64_t matrix_columns);
  void note(std::int64_t row, std::int64_t column, double ratio);
  void add(const ErrorMap& other);  ///< of the same size
};

/// The map of a result; empty when sizes differ. A pass of its own over every element, without the screen
/// that spares measure() most of them: for results that are not a pass. Three significant digits.
ErrorMap map_errors(const Tensor& got, const Value& want, const Contract& contract);

/// The histogram of |err| (bins of ErrorStatistics::ulp_histogram, counts add up to the elements) that a
/// Gaussian of the tracked mean and variance makes, rounded as the store does; from a sample of the elements,
/// three significant digits. Empty where nothing is predicted: bits are required, the reference is not
/// tracked, or nothing is finite.
std::vector<double> predicted_ulp_histogram(const Value& want, const Contract& contract);

}  // namespace parity
