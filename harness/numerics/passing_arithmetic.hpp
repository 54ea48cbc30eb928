#pragma once
#include "harness/numerics/arithmetic.hpp"

namespace parity {

/// Passes every operation on to another arithmetic, which must outlive it: the base of those that look at
/// some operations or change them.
class PassingArithmetic : public Arithmetic {
 public:
  explicit PassingArithmetic(Arithmetic& inner) : inner_(inner) {}

  Value load(const Tensor& tensor) override { return inner_.load(tensor); }
  Value matmul(const Value& a, bool transpose_a, const Value& b, bool transpose_b) override {
    return inner_.matmul(a, transpose_a, b, transpose_b);
  }
  Value scale_add(double alpha, const Value& x, double beta, const Value* y) override {
    return inner_.scale_add(alpha, x, beta, y);
  }
  Value add(const Value& x, const Value& y) override { return inner_.add(x, y); }
  Value mul(const Value& x, const Value& y) override { return inner_.mul(x, y); }
  Value div(const Value& x, const Value& y) override { return inner_.div(x, y); }
  Value apply(Function function, const Value& x) override { return inner_.apply(function, x); }
  Value row_dot(const Value& x, const Value* y) override { return inner_.row_dot(x, y); }
  Value row_max(const Value& x) override { return inner_.row_max(x); }
  Value store(const Value& x, DType dtype) override { return inner_.store(x, dtype); }

 protected:
  Arithmetic& inner() { return inner_; }

 private:
  Arithmetic& inner_;
};

}  // namespace parity
