#pragma once
// What the tests of the fills share.
#include <numeric>
#include <vector>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {

inline constexpr Fill all_fills[] = {Fill::normal,    Fill::uniform,    Fill::integer,   Fill::selector,
                                     Fill::positive,  Fill::cancelling, Fill::wide,      Fill::overflow,
                                     Fill::subnormal, Fill::nan_cone,   Fill::saturated, Fill::rows_equal,
                                     Fill::zeros};

/// The operands of C[M, N] = A[M, K] B[K, N] + C under one fill, and their product in fp64. The addend has
/// the inputs' dtype; to a product of int8 an int32 is added.
struct Problem {
  Problem(Fill fill, DType input, DType accumulate, DType store, std::int64_t m, std::int64_t n,
          std::int64_t k, std::uint64_t seed = 1)
      : rows(m), columns(n), depth(k) {
    FillRequest request{fill, FillRole::left, seed, 0, 1, k, accumulate, store, fill == Fill::nan_cone};
    left = *Tensor::create(input, {m, k});
    fill_tensor(left, request);
    request.holds_nan = false;
    request.role = FillRole::right;
    request.stream = 1;
    request.reduction_axis = 0;
    right = *Tensor::create(input, {k, n});
    fill_tensor(right, request);
    request.role = FillRole::addend;
    request.stream = 2;
    request.reduction_axis = -1;
    addend = *Tensor::create(input == DType::i8 ? store : input, {m, n});
    fill_tensor(addend, request);
  }

  /// Partial sums of element (i, j): without the addend, in order of k.
  std::vector<double> partial_sums(std::int64_t i, std::int64_t j) const {
    std::vector<double> sums;
    double sum = 0.0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += left.value(i * depth + k) * right.value(k * columns + j);
      sums.push_back(sum);
    }
    return sums;
  }
  std::vector<double> results() const {
    std::vector<double> all;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) all.push_back(depth == 0 ? 0.0 : partial_sums(i, j).back());
    }
    return all;
  }

  std::int64_t rows, columns, depth;
  Tensor left, right, addend;
};

inline double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
inline double mean_square(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double x : values) sum += x * x;
  return sum / static_cast<double>(values.size());
}

inline std::vector<double> filled(Fill fill, std::uint64_t seed = 1, std::uint32_t stream = 0,
                                  DType dtype = DType::f64, FillRole role = FillRole::left) {
  Tensor tensor = *Tensor::create(dtype, {200, 500});
  fill_tensor(tensor, {fill, role, seed, stream, 1, 500, DType::f32, DType::f32, false});
  return to_doubles(tensor);
}

}  // namespace parity
