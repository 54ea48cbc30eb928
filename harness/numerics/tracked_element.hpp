#pragma once
// One element of the tracked arithmetic with its error, and how errors go through sums, functions and
// roundings (docs/numerics.md, section 4).
#include <algorithm>
#include <cmath>

#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {

inline constexpr double fp64_unit = 0x1p-53;

/// One element with its error.
struct Element {
  double v = 0, hard = 0, systematic = 0, mean = 0, variance = 0;
};

inline Element element(const Value& x, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  // An input as loaded has no error arrays: it is what it is.
  if (x.hard.empty()) return {x.v[at], 0, 0, 0, 0};
  return {x.v[at], x.hard[at], x.systematic[at], x.mean[at], x.variance[at]};
}

inline Element scaled(const Element& x, double factor) {
  const double magnitude = std::fabs(factor);
  return {factor * x.v, magnitude * x.hard, magnitude * x.systematic, factor * x.mean,
          factor * factor * x.variance};
}

/// Variance of a sum whose parts may depend on each other in any way: the standard deviations add.
inline double joint_variance(double x, double y) {
  if (x == 0) return y;
  if (y == 0) return x;
  const double deviation = std::sqrt(x) + std::sqrt(y);
  return deviation * deviation;
}

inline Element sum(const Element& x, const Element& y) {
  return {x.v + y.v, x.hard + y.hard, x.systematic + y.systematic, x.mean + y.mean,
          joint_variance(x.variance, y.variance)};
}

/// slope * error, where no error stays none however steep the slope.
inline double through(double slope, double error) {
  return error == 0 ? 0 : slope * error;
}

/// Rounding of one result to the scratch format, the fp64 reference's own included.
class ScratchRounding {
 public:
  explicit ScratchRounding(const ArithmeticModel& model) {
    const FloatFormat format = format_of(model.precision.scratch);
    unit_ = unit_roundoff(format);
    eta_ = smallest_subnormal(format);
    // Operand or result may be flushed to zero.
    flushed_ = model.denormals == Denormals::preserve ? 0 : 2 * smallest_normal(format);
  }
  double unit() const { return unit_; }
  double eta() const { return eta_; }

  /// An operand as a device that may flush takes it: below the smallest normal number perhaps as zero. A sum
  /// has that in its own allowance; a product, a quotient or a function may enlarge it.
  Element operand(Element x) const {
    if (flushed_ == 0 || std::fabs(x.v) - x.hard >= flushed_ / 2) return x;
    const double lost = std::min(flushed_ / 2, std::fabs(x.v) + x.hard);
    x.hard += lost;
    x.systematic += lost;
    return x;
  }
  double absolute() const { return eta_ / 2 + flushed_; }  ///< of one rounding below the normal range

  /// The rounding of a product or quotient with one number for the whole tensor (a factor, a learning rate).
  /// Its error is a function of the operand's bits and that number's: over many elements it has a mean, up to
  /// a sixth of an ulp for 0.1 and its like, so that it counts as systematic.
  Element with_constant(Element x) const {
    const double error = (unit_ + fp64_unit) * (std::fabs(x.v) + x.hard) + eta_ / 2 + flushed_;
    x.hard += error;
    x.systematic += error;
    return x;
  }

  Element operator()(Element x) const {
    const double unit = unit_ + fp64_unit;
    x.hard += unit * (std::fabs(x.v) + x.hard) + eta_ / 2 + flushed_;
    x.systematic += flushed_;
    x.variance += unit * unit / 3 * binade(x.v) * binade(x.v) + eta_ * eta_ / 12;
    return x;
  }

 private:
  double unit_ = 0, eta_ = 0, flushed_ = 0;
};

/// h times this is how far f moves, at most, over [v - h, v + h]: the largest |f'| there, or less.
inline double lipschitz(Function function, double v, double h) {
  switch (function) {
    case Function::identity:
      return 1;
    case Function::relu:
      return v + h < 0 ? 0 : 1;
    case Function::leaky_relu_squared:
      return std::max(2 * std::max(v + h, 0.0), 0.5 * std::max(h - v, 0.0));
    case Function::sigmoid: {
      const double s = evaluate(Function::sigmoid, -std::max(std::fabs(v) - h, 0.0));
      return s * (1 - s);
    }
    case Function::tanh: {
      const double t = std::tanh(std::max(std::fabs(v) - h, 0.0));
      return 1 - t * t;
    }
    case Function::exp:
      return std::exp(v + h);
    case Function::log:
      return v > h ? 1 / (v - h) : HUGE_VAL;
    case Function::sqrt: {
      // Chords, for the slope is infinite at zero: |sqrt(y) - sqrt(v)| = |y - v| / (sqrt(y) + sqrt(v)).
      // Upward the longest chord is taken to its end, downward to zero at the farthest.
      const double root = std::sqrt(std::max(v, 0.0));
      if (v >= h) return root > 0 ? 1 / (std::sqrt(v - h) + root) : HUGE_VAL;
      return std::max(1 / (std::sqrt(std::max(v + h, 0.0)) + root), root / h);
    }
    case Function::inverse_sqrt:
      return v > h ? 0.5 / ((v - h) * std::sqrt(v - h)) : HUGE_VAL;
  }
  return 1;
}

inline double derivative(Function function, double v) {
  switch (function) {
    case Function::identity:
      return 1;
    case Function::relu:
      return v < 0 ? 0 : 1;
    case Function::leaky_relu_squared:
      return v > 0 ? 2 * v : v / 2;
    case Function::inverse_sqrt:
      return -lipschitz(function, v, 0);
    default:
      return lipschitz(function, v, 0);
  }
}

}  // namespace parity
