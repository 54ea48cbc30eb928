// The exact arithmetic: fp64 throughout. "Exact" up to fp64's own rounding, 2^-29 of an fp32 device's.
#include <algorithm>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/matrix_product.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {

Value make_value(std::int64_t batch, std::int64_t rows, std::int64_t cols) {
  Value value;
  value.batch = batch;
  value.rows = rows;
  value.cols = cols;
  value.v.resize(static_cast<std::size_t>(batch * rows * cols));
  return value;
}

Value load_value(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const std::size_t rank = shape.size();
  Value value = make_value(rank >= 3 ? shape[rank - 3] : 1, rank >= 2 ? shape[rank - 2] : 1,
                           rank >= 1 ? shape[rank - 1] : 1);
  // Ranks above 3 are the caller's mistake; their leading dimensions are folded into the batch.
  for (std::size_t i = 0; i + 3 < rank; ++i) value.batch *= shape[i];
  value.v.resize(static_cast<std::size_t>(value.size()));
  widen(tensor, std::span<double>(value.v));
  return value;
}

namespace {

class ExactArithmetic final : public Arithmetic {
 public:
  Value load(const Tensor& tensor) override { return load_value(tensor); }

  Value matmul(const Value& a, bool transpose_a, const Value& b, bool transpose_b) override {
    Value c = make_value(common_batch(a, b), transpose_a ? a.cols : a.rows, transpose_b ? b.rows : b.cols);
    const auto one = [&](std::int64_t batch) {
      multiply(view(a, a.v, batch, transpose_a), view(b, b.v, batch, transpose_b),
               c.v.data() + batch * c.rows * c.cols, c.cols, true);  // c.v is zero already
    };
    // Small matrices: one thread a batch; large ones: several threads a product.
    const std::int64_t batches = c.batch;
    if (batches > 1 && c.rows * c.cols <= 256 * 256) {
#pragma omp parallel for schedule( \
    dynamic) if (worth_threads(batches * c.rows, c.cols, transpose_a ? a.rows : a.cols))
      for (std::int64_t batch = 0; batch < batches; ++batch) one(batch);
    } else {
      for (std::int64_t batch = 0; batch < batches; ++batch) one(batch);
    }
    return c;
  }

  Value scale_add(double alpha, const Value& x, double beta, const Value* y) override {
    Value result = make_value(x.batch, x.rows, x.cols);
    for_each_element(x.size(), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      double value = alpha * x.v[at];
      if (y != nullptr) value += beta * y->v[static_cast<std::size_t>(broadcast_index(x, *y, i))];
      result.v[at] = value;
    });
    return result;
  }

  Value add(const Value& x, const Value& y) override {
    return scale_add(1, x, 1, &y);
  }

  Value mul(const Value& x, const Value& y) override {
    Value result = make_value(x.batch, x.rows, x.cols);
    for_each_element(x.size(), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      result.v[at] = x.v[at] * y.v[static_cast<std::size_t>(broadcast_index(x, y, i))];
    });
    return result;
  }

  Value div(const Value& x, const Value& y) override {
    Value result = make_value(x.batch, x.rows, x.cols);
    for_each_element(x.size(), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      result.v[at] = x.v[at] / y.v[static_cast<std::size_t>(broadcast_index(x, y, i))];
    });
    return result;
  }

  Value row_dot(const Value& x, const Value* y) override {
    Value result = make_value(x.batch, x.rows, 1);
    for_each_element(x.batch * x.rows, [&](std::int64_t row) {
      double sum = 0;
      for (std::int64_t i = row * x.cols; i < (row + 1) * x.cols; ++i) {
        const auto at = static_cast<std::size_t>(i);
        sum += y == nullptr ? x.v[at] : x.v[at] * y->v[at];
      }
      result.v[static_cast<std::size_t>(row)] = sum;
    });
    return result;
  }

  Value row_max(const Value& x) override {
    Value result = make_value(x.batch, x.rows, 1);
    for_each_element(x.batch * x.rows, [&](std::int64_t row) {
      result.v[static_cast<std::size_t>(row)] = row_maximum(x, row);
    });
    return result;
  }

  Value apply(Function function, const Value& x) override {
    Value result = make_value(x.batch, x.rows, x.cols);
    for_each_element(x.size(), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      result.v[at] = evaluate(function, x.v[at]);
    });
    return result;
  }

  Value store(const Value& x, DType /*dtype*/) override {
    return x;
  }
};

}  // namespace

std::unique_ptr<Arithmetic> make_exact_arithmetic() {
  return std::make_unique<ExactArithmetic>();
}

}  // namespace parity
