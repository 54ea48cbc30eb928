#include "harness/numerics/matrix_product.hpp"

#include <Eigen/Core>

namespace parity {
namespace {

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

}  // namespace

void multiply(const MatrixView<double>& a, const MatrixView<double>& b, double* c, std::int64_t leading,
              bool accumulate) {
  dispatch(a, b, c, leading, accumulate);
}

void multiply(const MatrixView<float>& a, const MatrixView<float>& b, float* c, std::int64_t leading,
              bool accumulate) {
  dispatch(a, b, c, leading, accumulate);
}

}  // namespace parity
