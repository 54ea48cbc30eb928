#pragma once
#include <cstdint>

#include "harness/numerics/arithmetic.hpp"

namespace parity {

/// A matrix as a product sees it: logical rows x cols over a contiguous row-major array, transposed without a
/// copy. Element (i, j) is data[i * row_stride + j * col_stride]; one of the strides is 1.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 1;

  const T& operator()(std::int64_t i, std::int64_t j) const { return data[i * row_stride + j * col_stride]; }
  MatrixView block(std::int64_t row, std::int64_t col, std::int64_t n_rows, std::int64_t n_cols) const {
    return {data + row * row_stride + col * col_stride, n_rows, n_cols, row_stride, col_stride};
  }
};

/// View of a row-major array of `rows` x `cols`, or of its transpose.
template <class T>
MatrixView<T> view(const T* data, std::int64_t rows, std::int64_t cols, bool transpose) {
  if (transpose) return {data, cols, rows, 1, cols};
  return {data, rows, cols, cols, 1};
}

/// op(value[batch]); a batch of 1 is repeated. `array` is value.v or another array of the same shape.
inline MatrixView<double> view(const Value& value, const std::vector<double>& array, std::int64_t batch,
                               bool transpose) {
  const std::int64_t at = value.batch == 1 ? 0 : batch;
  return view(array.data() + at * value.rows * value.cols, value.rows, value.cols, transpose);
}

/// Whether a product of m x k and k x n is long enough (about a tenth of a millisecond) to wake threads for
/// it.
inline bool worth_threads(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > 1e6;
}

/// c = a b, or c += a b; c row-major with `leading` elements from row to row. Eigen's GEMM over tiles,
/// parallel when called from outside a parallel region. IEEE semantics: a NaN or Inf in row i of a or column
/// j of b reaches (i, j).
void multiply(const MatrixView<double>& a, const MatrixView<double>& b, double* c, std::int64_t leading,
              bool accumulate);
void multiply(const MatrixView<float>& a, const MatrixView<float>& b, float* c, std::int64_t leading,
              bool accumulate);

}  // namespace parity
