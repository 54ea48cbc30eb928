#include "harness/numerics/matrix_product.hpp"

#define EIGEN_DONT_PARALLELIZE  // it would wake its threads for products of a few thousand operations
#include <Eigen/Core>
#include <algorithm>

namespace parity {
namespace {

constexpr std::int64_t tile_rows = 256;
constexpr std::int64_t tile_cols = 512;

template <class T, int Order>
auto map(const MatrixView<T>& m) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>;
  const std::int64_t outer = Order == Eigen::RowMajor ? m.row_stride : m.col_stride;
  return Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(m.data, m.rows, m.cols,
                                                           Eigen::OuterStride<>(outer));
}

template <class T, int OrderA, int OrderB>
void product(const MatrixView<T>& a, const MatrixView<T>& b, T* c, std::int64_t leading, bool accumulate) {
  using Result = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Result, 0, Eigen::OuterStride<>> result(c, a.rows, b.cols, Eigen::OuterStride<>(leading));
  if (!accumulate) result.setZero();
  if (a.rows == 0 || b.cols == 0 || a.cols == 0) return;
  result.noalias() += map<T, OrderA>(a) * map<T, OrderB>(b);
}

template <class T>
void dispatch(const MatrixView<T>& a, const MatrixView<T>& b, T* c, std::int64_t leading, bool accumulate) {
  constexpr int row = Eigen::RowMajor;
  constexpr int column = Eigen::ColMajor;
  const bool a_by_rows = a.col_stride == 1;
  const bool b_by_rows = b.col_stride == 1;
  if (a_by_rows && b_by_rows) return product<T, row, row>(a, b, c, leading, accumulate);
  if (a_by_rows) return product<T, row, column>(a, b, c, leading, accumulate);
  if (b_by_rows) return product<T, column, row>(a, b, c, leading, accumulate);
  return product<T, column, column>(a, b, c, leading, accumulate);
}

/// Tiles of the result, in parallel where it pays; inside a parallel region they run on the calling thread.
template <class T>
void tiled(const MatrixView<T>& a, const MatrixView<T>& b, T* c, std::int64_t leading, bool accumulate) {
  const std::int64_t down = (a.rows + tile_rows - 1) / tile_rows;
  const std::int64_t across = (b.cols + tile_cols - 1) / tile_cols;
  if (!worth_threads(a.rows, b.cols, a.cols) || down * across == 1)
    return dispatch(a, b, c, leading, accumulate);
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (std::int64_t i = 0; i < down; ++i) {
    for (std::int64_t j = 0; j < across; ++j) {
      const std::int64_t row = i * tile_rows, col = j * tile_cols;
      dispatch(a.block(row, 0, std::min(tile_rows, a.rows - row), a.cols),
               b.block(0, col, b.rows, std::min(tile_cols, b.cols - col)), c + row * leading + col, leading,
               accumulate);
    }
  }
}

}  // namespace

void multiply(const MatrixView<double>& a, const MatrixView<double>& b, double* c, std::int64_t leading,
              bool accumulate) {
  tiled(a, b, c, leading, accumulate);
}

void multiply(const MatrixView<float>& a, const MatrixView<float>& b, float* c, std::int64_t leading,
              bool accumulate) {
  tiled(a, b, c, leading, accumulate);
}

}  // namespace parity
