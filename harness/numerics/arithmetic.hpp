#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/numerics/arithmetic_model.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// A batch of matrices as an arithmetic sees it, row-major [batch, rows, cols]. `v` is always there; the
/// other arrays only in the tracked arithmetic (docs/numerics.md, section 4). For every element of a healthy
/// result y:
///   |y - v| <= hard (certain),  y - v = systematic error (|.| <= systematic) + noise of mean `mean` and
///   variance `variance`.
struct Value {
  std::int64_t batch = 1, rows = 0, cols = 0;
  std::vector<double> v;
  std::vector<double> hard, systematic, mean, variance;
  /// Emulated only: false once an elementwise function without known bits was applied.
  bool bits_known = true;
  /// Tracked only, and only where factors of a product repeat: a name of each row ([batch, rows]) and column
  /// ([batch, cols]) of the sums these elements were made of. Elements with equal pairs were summed from the
  /// same products and share that error, whatever was added to them later.
  std::vector<std::uint64_t> row_kin, col_kin;

  std::int64_t size() const { return batch * rows * cols; }
  bool tracked() const { return !hard.empty() || size() == 0; }
};

/// The operations references are written over. One reference, three arithmetics: exact (fp64), tracked (fp64
/// with error bounds) and emulated (the device's formats in a named order). Shapes are the caller's duty
/// (references check them once, up front).
class Arithmetic {
 public:
  virtual ~Arithmetic() = default;

  /// Widens a tensor of rank 1 ([n] becomes 1 x n), 2 or 3 ([batch, rows, cols]); strides are honoured.
  virtual Value load(const Tensor& tensor) = 0;
  /// op(a) * op(b) per batch (a batch of 1 is repeated); op transposes when the flag is set. Result in the
  /// accumulate format.
  virtual Value matmul(const Value& a, bool transpose_a, const Value& b, bool transpose_b) = 0;
  /// alpha * x + beta * y, rounded as the model says (contract_epilogue). `y` may be null (beta is not read):
  /// alpha * x. alpha and beta are fp32 numbers. Multiplying by exactly 1 rounds nothing.
  virtual Value scale_add(double alpha, const Value& x, double beta, const Value* y) = 0;
  /// x + y. Broadcasting, here and below: a y with one batch, one row or one column meets all of x's. Errors
  /// of a repeated y are common to what it meets: tracked, they turn from noise into a systematic part.
  virtual Value add(const Value& x, const Value& y) = 0;
  /// Elementwise product, same broadcasting.
  virtual Value mul(const Value& x, const Value& y) = 0;
  /// Elementwise quotient, same broadcasting; accuracy: ArithmeticModel::divide.
  virtual Value div(const Value& x, const Value& y) = 0;
  virtual Value apply(Function function, const Value& x) = 0;
  /// sum over the columns of x * y, in the model's order and multiply-add: [batch, rows, 1]. x and y have the
  /// same sizes. `y` null: the sum of x (a product with exactly 1 rounds nothing).
  virtual Value row_dot(const Value& x, const Value* y) = 0;
  /// The largest of each row, [batch, rows, 1]; a NaN in a row gives NaN. cols >= 1. Rounds nothing.
  virtual Value row_max(const Value& x) = 0;
  /// The final conversion to the store type. Exact: unchanged. Tracked: |e| <= max(u |y|, eta/2) joins `hard`
  /// only (the judge works on the output grid, see judge.hpp). Emulated: rounded.
  virtual Value store(const Value& x, DType dtype) = 0;
};

/// fp64 throughout; matmul by Eigen, parallel.
std::unique_ptr<Arithmetic> make_exact_arithmetic();
/// fp64 values with hard bound, systematic part, mean and variance, derived from the model. Of a model that
/// sums integers: the integers modulo 2^32, without bounds, for nothing is rounded.
std::unique_ptr<Arithmetic> make_tracked_arithmetic(const ArithmeticModel& model);
/// The bits a device with this model computes. Error unless accumulation and denormals are definite.
Result<std::unique_ptr<Arithmetic>> make_emulated_arithmetic(const ArithmeticModel& model);

}  // namespace parity
