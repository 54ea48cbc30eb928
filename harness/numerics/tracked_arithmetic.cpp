// The tracked arithmetic: fp64 values with hard bound, systematic part, mean and variance of the rounding
// error of a device with a given model (docs/numerics.md, section 4).
#include <algorithm>
#include <cmath>

#include "harness/numerics/accumulation_error.hpp"
#include "harness/numerics/integer_matmul.hpp"
#include "harness/numerics/matrix_product.hpp"
#include "harness/numerics/summation_order.hpp"
#include "harness/numerics/tracked_element.hpp"
#include "harness/numerics/tracked_matmul.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity {
namespace {

class TrackedArithmetic final : public Arithmetic {
 public:
  explicit TrackedArithmetic(const ArithmeticModel& model) : model_(model), round_(model) {}

  Value load(const Tensor& tensor) override { return load_value(tensor); }

  Value matmul(const Value& a, bool transpose_a, const Value& b, bool transpose_b) override {
    Value c = tracked_matmul(model_, a, transpose_a, b, transpose_b);
    propagate(a, transpose_a, b, transpose_b, c);
    const FloatFormat scratch = format_of(model_.precision.scratch);
    if (scratch.precision < format_of(model_.precision.accumulate).precision) {
      return map(c, [&](std::int64_t i) { return round_(element(c, i)); });
    }
    return c;
  }

  Value scale_add(double alpha, const Value& x, double beta, const Value* y) override {
    const bool alpha_exact = std::fabs(alpha) == 1;
    const bool beta_exact = std::fabs(beta) == 1;
    return map(x, [&](std::int64_t i) {
      Element left = scaled(alpha_exact ? element(x, i) : round_.operand(element(x, i)), alpha);
      // One fma rounds the product of alpha only with the sum.
      const bool rounds_left = !alpha_exact && !(model_.contract_epilogue && y != nullptr);
      if (rounds_left) left = round_.with_constant(left);
      if (y == nullptr) return left;
      Element right = scaled(beta_exact ? partner(x, *y, i) : round_.operand(partner(x, *y, i)), beta);
      // The rounding of a product just made is new; earlier errors of both sides may have a common source.
      const bool independent = right.variance == 0 || element(x, i).variance == 0;
      if (!beta_exact) right = round_.with_constant(right);
      Element total = sum(left, right);
      if (independent) total.variance = left.variance + right.variance;
      return round_(total);
    });
  }

  Value add(const Value& x, const Value& y) override { return scale_add(1, x, 1, &y); }

  Value mul(const Value& x, const Value& y) override {
    return map(x, [&](std::int64_t i) {
      const Element a = round_.operand(element(x, i));
      const Element b = round_.operand(partner(x, y, i));
      const double va = std::fabs(a.v);
      const double vb = std::fabs(b.v);
      Element product;
      product.v = a.v * b.v;
      product.hard = va * b.hard + vb * a.hard + a.hard * b.hard;
      product.systematic = va * b.systematic + vb * a.systematic + a.systematic * b.systematic;
      product.mean = a.v * b.mean + b.v * a.mean + a.mean * b.mean;
      product.variance = joint_variance(va * va * b.variance, vb * vb * a.variance) + a.variance * b.variance;
      return y.size() == 1 && x.size() > 1 ? round_.with_constant(product) : round_(product);
    });
  }

  Value div(const Value& x, const Value& y) override {
    const bool one_divisor = y.size() == 1 && x.size() > 1;
    return map(x, [&](std::int64_t i) {
      return quotient(round_.operand(element(x, i)), round_.operand(partner(x, y, i)), one_divisor);
    });
  }

  Value row_dot(const Value& x, const Value* y) override {
    const Value rows = rows_as_batch(x);
    Value sums = y == nullptr ? matmul(rows, false, filled(1, 1, x.cols, 1), true)
                              : matmul(rows, false, rows_as_batch(*y), true);
    return reshape(std::move(sums), x.batch, x.rows, 1);
  }

  Value row_max(const Value& x) override {
    const Value shape = make_value(x.batch, x.rows, 1);
    return map(shape, [&](std::int64_t row) {
      // Whichever element a device takes, it is off by no more than the worst of the row.
      Element largest{row_maximum(x, row)};
      for (std::int64_t i = row * x.cols; !x.hard.empty() && i < (row + 1) * x.cols; ++i) {
        const Element e = repeated(element(x, i));
        largest.hard = std::max(largest.hard, e.hard);
        largest.systematic = std::max(largest.systematic, e.systematic);
      }
      return largest;
    });
  }

  Value apply(Function function, const Value& x) override {
    return map(x, [&](std::int64_t i) { return applied(function, round_.operand(element(x, i))); });
  }

  Value store(const Value& x, DType dtype) override {
    const FloatFormat scratch = format_of(model_.precision.scratch);
    if (!is_float(dtype)) {
      return map(x, [&](std::int64_t i) {
        Element e = element(x, i);
        e.hard += 0.5;
        return e;
      });
    }
    const FloatFormat format = format_of(dtype);
    const bool narrows = format.precision < scratch.precision || format.min_exponent > scratch.min_exponent ||
                         format.max_exponent < scratch.max_exponent;
    const bool nearest = model_.store_rounding_known && model_.store_rounding == Rounding::nearest_even;
    const double unit = unit_roundoff(format) * (nearest ? 1 : 2);
    const double absolute = smallest_subnormal(format) * (nearest ? 0.5 : 1);
    return map(x, [&](std::int64_t i) {
      Element e = element(x, i);
      if (narrows) e.hard += std::max(unit * (std::fabs(e.v) + e.hard), absolute);
      return e;
    });
  }

 private:
  template <class Body>
  static Value map(const Value& x, const Body& body) {
    Value result = make_value(x.batch, x.rows, x.cols);
    result.row_kin = x.row_kin;
    result.col_kin = x.col_kin;
    for (auto* array : {&result.hard, &result.systematic, &result.mean, &result.variance}) {
      array->resize(result.v.size());
    }
    for_each_element(x.size(), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      const Element e = body(i);
      result.v[at] = e.v;
      if (!std::isfinite(e.v)) return;  // a NaN or Inf speaks for itself
      result.hard[at] = e.hard;
      result.systematic[at] = e.systematic;
      result.mean[at] = e.mean;
      result.variance[at] = e.variance;
    });
    return result;
  }

  /// What of `x` does not average out over the elements that share it: all of it, though not beyond what
  /// chance allows where the order, and with it the tail, is known.
  Element repeated(Element x) const {
    const double likely = x.systematic + std::fabs(x.mean) + 8 * std::sqrt(x.variance);
    x.systematic = model_.accumulation ? std::min(x.hard, likely) : x.hard;
    x.mean = x.variance = 0;
    return x;
  }

  /// The element of y that meets element `index` of x.
  Element partner(const Value& x, const Value& y, std::int64_t index) const {
    const Element e = element(y, broadcast_index(x, y, index));
    return y.size() == x.size() ? e : repeated(e);
  }

  /// What the platform's accuracy of a function or a division allows beside the exact result y.
  void add_accuracy(const FunctionAccuracy& accuracy, double argument, Element& y) const {
    const double ulp = std::max(accuracy.base_ulp + accuracy.slope_ulp * argument, 0.5);
    const double own = (2 * ulp * round_.unit() + 8 * fp64_unit) * (std::fabs(y.v) + y.hard) +
                       accuracy.absolute + ulp * round_.eta() +
                       round_.absolute();  // an ULP below the normal range is eta
    y.hard += own;
    y.systematic += own;
  }

  Element quotient(const Element& a, const Element& b, bool one_divisor) const {
    const double vb = std::fabs(b.v);
    Element q;
    q.v = a.v / b.v;
    const double vq = std::fabs(q.v);
    const auto bound = [&](double ea, double eb) {
      if (ea == 0 && eb == 0) return 0.0;
      return vb > eb ? (ea + vq * eb) / (vb - eb) : HUGE_VAL;
    };
    q.hard = bound(a.hard, b.hard);
    q.systematic = bound(a.systematic, b.systematic);
    q.mean = (a.mean - q.v * b.mean) / b.v;
    q.variance = joint_variance(a.variance, vq * vq * b.variance) / (vb * vb);
    if (correctly_rounded(model_.divide)) return one_divisor ? round_.with_constant(q) : round_(q);
    add_accuracy(model_.divide, 0, q);
    return q;
  }

  Element applied(Function function, const Element& x) const {
    if (function == Function::identity) return x;
    Element y;
    y.v = evaluate(function, x.v);
    const double steepest = lipschitz(function, x.v, x.hard);
    const double slope = derivative(function, x.v);
    y.hard = through(steepest, x.hard);
    y.systematic = std::min(y.hard, through(lipschitz(function, x.v, x.systematic), x.systematic));
    y.mean = through(slope, x.mean);
    // At a kink the slope is that of one side; the steeper side within reach covers both.
    y.variance = through(std::pow(function == Function::relu ? steepest : slope, 2), x.variance);
    if (function == Function::relu) return y;
    if (function == Function::leaky_relu_squared) {
      // h^2 = v^2 + 2 v e + e^2: the mean of e^2 is first order nowhere but at v = 0.
      y.variance += 2 * x.variance * x.variance;
      return round_(y);  // 1/4 is exact
    }
    const FunctionAccuracy& accuracy = accuracy_of(function);
    if (function == Function::sqrt && correctly_rounded(accuracy)) return round_(y);
    add_accuracy(accuracy, std::fabs(x.v) + x.hard, y);
    return y;
  }

  const FunctionAccuracy& accuracy_of(Function function) const {
    switch (function) {
      case Function::sigmoid:
        return model_.sigmoid;
      case Function::tanh:
        return model_.tanh;
      case Function::log:
        return model_.log;
      case Function::sqrt:
        return model_.sqrt;
      case Function::inverse_sqrt:
        return model_.inverse_sqrt;
      default:
        return model_.exp;
    }
  }

  /// Adds what the operands' own errors do to c = a b; hard bounds also through the rounding of the sum.
  void propagate(const Value& a, bool transpose_a, const Value& b, bool transpose_b, Value& c) const {
    if (a.hard.empty() && b.hard.empty()) return;
    const AccumulationError error = accumulation_error(model_, transpose_a ? a.rows : a.cols);
    const auto magnitude = [](const std::vector<double>& x) {
      return transformed(x, [](double e) { return std::fabs(e); });
    };
    const auto square = [](const std::vector<double>& x) {
      return transformed(x, [](double e) { return e * e; });
    };
    const auto product = [&](const std::vector<double>& left, const std::vector<double>& right, double factor,
                             std::vector<double>& into) {
      if (left.empty() || right.empty()) return;
      if (c.rows * c.cols == 1 && c.batch > 1) {  // rows of their own: a product's fixed cost is not worth it
        const std::int64_t terms = transpose_a ? a.rows : a.cols;
        const auto begin = [&](const Value& value, const std::vector<double>& array, std::int64_t batch) {
          return array.data() + (value.batch == 1 ? 0 : batch * terms);
        };
#pragma omp parallel for schedule(static) if (worth_threads(c.batch, 1, terms))
        for (std::int64_t batch = 0; batch < c.batch; ++batch) {
          const double *x = begin(a, left, batch), *y = begin(b, right, batch);
          double sum = 0;
#pragma omp simd reduction(+ : sum)
          for (std::int64_t k = 0; k < terms; ++k) sum += x[k] * y[k];
          into[static_cast<std::size_t>(batch)] += factor * sum;
        }
        return;
      }
      std::vector<double> sums(static_cast<std::size_t>(c.rows * c.cols));
      for (std::int64_t batch = 0; batch < c.batch; ++batch) {
        multiply(view(a, left, batch, transpose_a), view(b, right, batch, transpose_b), sums.data(), c.cols,
                 false);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          into[static_cast<std::size_t>(batch) * sums.size() + i] += factor * sums[i];
        }
      }
    };
    const auto propagate_linear = [&](const std::vector<double>& ea, const std::vector<double>& eb,
                                      double factor, const std::vector<double>& va,
                                      const std::vector<double>& vb, std::vector<double>& into) {
      product(va, eb, factor, into);
      product(ea, vb, factor, into);
      product(ea, eb, factor, into);
    };
    const std::vector<double> ma = magnitude(a.v), mb = magnitude(b.v);
    propagate_linear(a.hard, b.hard, 1 + 1.01 * error.hard_relative, ma, mb, c.hard);
    propagate_linear(a.systematic, b.systematic, 1, ma, mb, c.systematic);
    propagate_linear(a.mean, b.mean, 1, a.v, b.v, c.mean);
    propagate_linear(a.variance, b.variance, 1, square(a.v), square(b.v), c.variance);
    for (std::size_t i = 0; i < c.v.size(); ++i) {
      if (std::isfinite(c.v[i])) continue;
      for (auto* array : {&c.hard, &c.systematic, &c.mean, &c.variance}) (*array)[i] = 0;
    }
  }

  template <class Body>
  static std::vector<double> transformed(const std::vector<double>& x, const Body& body) {
    std::vector<double> out(x.size());
    std::transform(x.begin(), x.end(), out.begin(), body);
    return out;
  }

  ArithmeticModel model_;
  ScratchRounding round_;
};

}  // namespace

std::unique_ptr<Arithmetic> make_tracked_arithmetic(const ArithmeticModel& model) {
  if (sums_integers(model)) return make_integer_arithmetic(false);
  return std::make_unique<TrackedArithmetic>(model);
}

}  // namespace parity
