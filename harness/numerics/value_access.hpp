#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "harness/numerics/arithmetic.hpp"

namespace parity {

/// The values of a tensor as an arithmetic's `load` returns them; no error arrays.
Value load_value(const Tensor& tensor);

/// A Value of the given sizes with `v` zero and no error arrays.
Value make_value(std::int64_t batch, std::int64_t rows, std::int64_t cols);

/// Index into y of the element that meets element `index` of x: y may have one row (a bias), one column (a
/// row's own factor) or one batch.
inline std::int64_t broadcast_index(const Value& x, const Value& y, std::int64_t index) {
  if (y.size() == x.size()) return index;
  if (y.size() == 1) return 0;
  const std::int64_t col = x.cols == 0 ? 0 : index % x.cols;
  const std::int64_t row = x.cols == 0 ? 0 : index / x.cols % x.rows;
  const std::int64_t batch = y.batch == 1 ? 0 : index / (x.rows * x.cols);
  return (batch * y.rows + (y.rows == 1 ? 0 : row)) * y.cols + (y.cols == 1 ? 0 : col);
}

/// Batch entries of a product: a batch of 1 is repeated, a batch of none gives none.
inline std::int64_t common_batch(const Value& a, const Value& b) {
  return a.batch == 1 ? b.batch : a.batch;
}

/// 2^floor(log2 |x|), zero for zero.
inline double binade(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u);
}

/// f(x) in fp64; a NaN stays a NaN.
inline double evaluate(Function function, double x) {
  switch (function) {
    case Function::identity:
      return x;
    case Function::relu:
      return x < 0 ? 0 : x;
    case Function::leaky_relu_squared:
      return x > 0 ? x * x : x * x / 4;
    case Function::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Function::tanh:
      return std::tanh(x);
    case Function::exp:
      return std::exp(x);
    case Function::log:
      return std::log(x);
    case Function::sqrt:
      return std::sqrt(x);
    case Function::inverse_sqrt:
      return 1 / std::sqrt(x);
  }
  return x;
}

/// x and y (of x's sizes, or null) with every row a batch of its own: what a product x' y of one row and one
/// column needs. Arrays are copied.
inline Value rows_as_batch(const Value& x) {
  Value rows = x;
  rows.batch = x.batch * x.rows;
  rows.rows = 1;
  rows.row_kin = rows.col_kin = {};
  return rows;
}

/// The larger of each row and where it is; NaN when the row has one.
inline double row_maximum(const Value& x, std::int64_t row) {
  double largest = x.v[static_cast<std::size_t>(row * x.cols)];
  for (std::int64_t c = 1; c < x.cols; ++c) {
    const double value = x.v[static_cast<std::size_t>(row * x.cols + c)];
    if (std::isnan(value) || value > largest) largest = value;
    if (std::isnan(largest)) break;
  }
  return largest;
}

/// Calls body(i) for i in 0..n-1, in parallel when n is worth it.
template <class Body>
void for_each_element(std::int64_t n, const Body& body) {
#pragma omp parallel for schedule(static) if (n > 32768)
  for (std::int64_t i = 0; i < n; ++i) body(i);
}

}  // namespace parity
