#pragma once
#include <cstdint>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// A matrix as it lies in a tensor of any dtype and strides; element (i, j) is storage position
/// offset + i * row_stride + j * col_stride. Nothing is copied: tiles are widened when they are read. A
/// stride of 0 repeats a row or a column.
struct StoredMatrix {
  const Tensor* tensor = nullptr;
  std::int64_t offset = 0, rows = 0, cols = 0, row_stride = 0, col_stride = 1;

  StoredMatrix transposed() const { return {tensor, offset, cols, rows, col_stride, row_stride}; }
  /// Of one row: that row `count` times.
  StoredMatrix repeated(std::int64_t count) const {
    return {tensor, offset, rows == 1 ? count : rows, cols, rows == 1 ? 0 : row_stride, col_stride};
  }
};

/// op(entry `batch`) of a tensor of rank 1 ([n] is one row), 2 or 3; a batch of one is repeated.
StoredMatrix stored_matrix(const Tensor& tensor, std::int64_t batch, bool transpose);

/// Widens the tile at (row, col) into `out`, row-major with `leading` numbers from row to row.
void read_tile(const StoredMatrix& matrix, std::int64_t row, std::int64_t col, std::int64_t rows,
               std::int64_t cols, double* out, std::int64_t leading);

}  // namespace parity
