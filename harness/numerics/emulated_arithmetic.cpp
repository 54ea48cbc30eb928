// The emulated arithmetic: what a device with a given model computes, to the bit.
#include <algorithm>
#include <cmath>

#include "harness/numerics/emulated_matmul.hpp"
#include "harness/numerics/flush_scope.hpp"
#include "harness/numerics/integer_matmul.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity {
namespace {

/// Elementwise work in the scratch format T (float or double), flushing with the vector unit's mode.
template <class T, class Body>
[[gnu::noinline]] void elementwise(bool flush, std::int64_t n, const Body& body, double* out) {
#pragma omp parallel if (n > 32768)
  {
    const FlushScope scope(flush);
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(static_cast<T>(body(i)));
  }
}

class EmulatedArithmetic final : public Arithmetic {
 public:
  explicit EmulatedArithmetic(const ArithmeticModel& model)
      : model_(model), flush_(model.denormals == Denormals::flush) {}

  Value load(const Tensor& tensor) override { return load_value(tensor); }

  Value matmul(const Value& a, bool transpose_a, const Value& b, bool transpose_b) override {
    return emulate_matmul(model_, a, transpose_a, b, transpose_b);
  }

  Value scale_add(double alpha, const Value& x, double beta, const Value* y) override {
    return in_scratch([&](auto zero) { return scaled<decltype(zero)>(alpha, x, beta, y); });
  }

  Value add(const Value& x, const Value& y) override { return scale_add(1, x, 1, &y); }

  Value mul(const Value& x, const Value& y) override {
    return in_scratch([&](auto zero) {
      using T = decltype(zero);
      Value result = like(x, y.bits_known);
      const auto product = [&](std::int64_t i) {
        return static_cast<T>(x.v[static_cast<std::size_t>(i)]) *
               static_cast<T>(y.v[static_cast<std::size_t>(broadcast_index(x, y, i))]);
      };
      elementwise<T>(flush_, x.size(), product, result.v.data());
      return result;
    });
  }

  Value div(const Value& x, const Value& y) override {
    return in_scratch([&](auto zero) {
      using T = decltype(zero);
      Value result = like(x, y.bits_known && correctly_rounded(model_.divide));
      const auto quotient = [&](std::int64_t i) {
        return static_cast<T>(x.v[static_cast<std::size_t>(i)]) /
               static_cast<T>(y.v[static_cast<std::size_t>(broadcast_index(x, y, i))]);
      };
      elementwise<T>(flush_, x.size(), quotient, result.v.data());
      return result;
    });
  }

  Value row_dot(const Value& x, const Value* y) override {
    const Value rows = rows_as_batch(x);
    Value ones;
    if (y == nullptr) ones = filled(1, 1, x.cols, 1);
    Value sums = emulate_matmul(model_, rows, false, y == nullptr ? ones : rows_as_batch(*y), true);
    sums.bits_known = x.bits_known && (y == nullptr || y->bits_known);
    return reshape(std::move(sums), x.batch, x.rows, 1);
  }

  Value row_max(const Value& x) override {
    Value result = make_value(x.batch, x.rows, 1);
    result.bits_known = x.bits_known;
    for_each_element(x.batch * x.rows, [&](std::int64_t row) {
      result.v[static_cast<std::size_t>(row)] = row_maximum(x, row);
    });
    return result;
  }

  Value apply(Function function, const Value& x) override {
    return in_scratch([&](auto zero) { return applied<decltype(zero)>(function, x); });
  }

  Value store(const Value& x, DType dtype) override {
    Value result = like(x, true);
    if (!is_float(dtype)) {
      for_each_element(x.size(), [&](std::int64_t i) {
        result.v[static_cast<std::size_t>(i)] = std::nearbyint(x.v[static_cast<std::size_t>(i)]);
      });
      return result;
    }
    const FloatFormat format = format_of(dtype);
    const bool narrows = format.precision < format_of(model_.precision.scratch).precision ||
                         format.max_exponent < format_of(model_.precision.scratch).max_exponent;
    for_each_element(x.size(), [&](std::int64_t i) {
      const double value = x.v[static_cast<std::size_t>(i)];
      result.v[static_cast<std::size_t>(i)] =
          narrows ? round_to(format, value, model_.store_rounding) : value;
    });
    return result;
  }

 private:
  static Value like(const Value& x, bool bits_known) {
    Value result = make_value(x.batch, x.rows, x.cols);
    result.bits_known = x.bits_known && bits_known;
    return result;
  }

  template <class Body>
  Value in_scratch(const Body& body) {
    return model_.precision.scratch == DType::f64 ? body(double{}) : body(float{});
  }

  template <class T>
  Value scaled(double alpha64, const Value& x, double beta64, const Value* y) {
    const T alpha = static_cast<T>(alpha64);
    const T beta = static_cast<T>(beta64);
    Value result = like(x, y == nullptr || y->bits_known);
    const auto at = [&](std::int64_t i) { return static_cast<T>(x.v[static_cast<std::size_t>(i)]); };
    if (y == nullptr) {
      elementwise<T>(
          flush_, x.size(), [&](std::int64_t i) { return alpha * at(i); }, result.v.data());
      return result;
    }
    const auto other = [&](std::int64_t i) {
      return static_cast<T>(y->v[static_cast<std::size_t>(broadcast_index(x, *y, i))]);
    };
    if (model_.contract_epilogue) {
      elementwise<T>(
          flush_, x.size(), [&](std::int64_t i) { return std::fma(alpha, at(i), beta * other(i)); },
          result.v.data());
    } else {
      elementwise<T>(
          flush_, x.size(), [&](std::int64_t i) { return alpha * at(i) + beta * other(i); }, result.v.data());
    }
    return result;
  }

  template <class T>
  Value applied(Function function, const Value& x) {
    const bool known = function == Function::identity || function == Function::relu ||
                       function == Function::leaky_relu_squared ||
                       (function == Function::sqrt && correctly_rounded(model_.sqrt));
    Value result = like(x, known);
    const auto at = [&](std::int64_t i) { return static_cast<T>(x.v[static_cast<std::size_t>(i)]); };
    switch (function) {
      case Function::identity:
        result.v = x.v;
        break;
      case Function::relu:
        elementwise<T>(
            flush_, x.size(), [&](std::int64_t i) { return at(i) < 0 ? T(0) : at(i); }, result.v.data());
        break;
      case Function::leaky_relu_squared: {
        const auto square = [&](std::int64_t i) {
          const T h = at(i);
          return h > 0 ? h * h : h * h * T(0.25);
        };
        elementwise<T>(flush_, x.size(), square, result.v.data());
        break;
      }
      case Function::sqrt:
        elementwise<T>(
            flush_, x.size(), [&](std::int64_t i) { return std::sqrt(at(i)); }, result.v.data());
        break;
      case Function::sigmoid:
      case Function::tanh:
      case Function::exp:
      case Function::log:
      case Function::inverse_sqrt: {
        // Correctly rounded for nearly all arguments; a device may differ in the last bits.
        const auto rounded = [&](std::int64_t i) {
          return evaluate(function, x.v[static_cast<std::size_t>(i)]);
        };
        elementwise<T>(false, x.size(), rounded, result.v.data());
        break;
      }
    }
    return result;
  }

  ArithmeticModel model_;
  bool flush_;
};

}  // namespace

Result<std::unique_ptr<Arithmetic>> make_emulated_arithmetic(const ArithmeticModel& model) {
  if (auto possible = check_emulation(model); !possible) return tl::unexpected<Error>(possible.error());
  if (sums_integers(model)) return make_integer_arithmetic(true);
  return std::make_unique<EmulatedArithmetic>(model);
}

}  // namespace parity
