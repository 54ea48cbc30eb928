// The arithmetic of integer accumulators: exact modulo 2^32.
#include "harness/numerics/integer_matmul.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

class IntegerArithmetic final : public Arithmetic {
 public:
  explicit IntegerArithmetic(bool emulated) : emulated_(emulated), plain_(make_exact_arithmetic()) {}

  Value load(const Tensor& tensor) override { return load_value(tensor); }

  Value matmul(const Value& a, bool transpose_a, const Value& b, bool transpose_b) override {
    if (!emulated_) return wrapped(plain_->matmul(a, transpose_a, b, transpose_b));
    Value c = make_value(common_batch(a, b), transpose_a ? a.cols : a.rows, transpose_b ? b.rows : b.cols);
    for (std::int64_t batch = 0; batch < c.batch; ++batch)
      integer_matmul(view(a, a.v, batch, transpose_a), view(b, b.v, batch, transpose_b),
                     c.v.data() + batch * c.rows * c.cols);
    return c;
  }

  Value scale_add(double alpha, const Value& x, double beta, const Value* y) override {
    return wrapped(plain_->scale_add(alpha, x, beta, y));
  }
  Value add(const Value& x, const Value& y) override { return wrapped(plain_->add(x, y)); }

  Value mul(const Value& x, const Value& y) override {
    Value result = make_value(x.batch, x.rows, x.cols);
    for_each_element(x.size(), [&](std::int64_t i) {
      // In int64: fp64 has not all bits of such a product.
      const auto left = static_cast<std::int64_t>(wrapped_i32(x.v[static_cast<std::size_t>(i)]));
      const auto right =
          static_cast<std::int64_t>(wrapped_i32(y.v[static_cast<std::size_t>(broadcast_index(x, y, i))]));
      result.v[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(left * right);
    });
    return result;
  }

  Value div(const Value& x, const Value& y) override { return plain_->div(x, y); }
  Value apply(Function function, const Value& x) override { return plain_->apply(function, x); }
  Value row_max(const Value& x) override { return plain_->row_max(x); }
  Value store(const Value& x, DType) override { return x; }

  Value row_dot(const Value& x, const Value* y) override {
    return wrapped(plain_->row_dot(y == nullptr ? x : mul(x, *y), nullptr));
  }

 private:
  static Value wrapped(Value x) {
    for_each_element(x.size(), [&](std::int64_t i) {
      double& value = x.v[static_cast<std::size_t>(i)];
      value = wrapped_i32(value);
    });
    return x;
  }

  bool emulated_;
  std::unique_ptr<Arithmetic> plain_;
};

}  // namespace

std::unique_ptr<Arithmetic> make_integer_arithmetic(bool emulated) {
  return std::make_unique<IntegerArithmetic>(emulated);
}

}  // namespace parity
