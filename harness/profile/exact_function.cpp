#include "harness/profile/exact_function.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#if PARITY_HAS_MPFR
#include <mpfr.h>
#endif

namespace parity {

bool has_exact_value(DeviceFunction function) {
  switch (function) {
    case DeviceFunction::div:
    case DeviceFunction::sqrt:
    case DeviceFunction::inverse_sqrt:
    case DeviceFunction::inverse_sqrt_builtin:
    case DeviceFunction::exp:
    case DeviceFunction::log:
    case DeviceFunction::tanh:
    case DeviceFunction::tanh_builtin:
    case DeviceFunction::sigmoid:
    case DeviceFunction::sin:
    case DeviceFunction::cos:
      return true;
    default:
      return false;
  }
}

double screen_value(DeviceFunction function, double a, double b) {
  switch (function) {
    case DeviceFunction::div:
      return a / b;
    case DeviceFunction::sqrt:
      return std::sqrt(a);
    case DeviceFunction::inverse_sqrt:
    case DeviceFunction::inverse_sqrt_builtin:
      return 1 / std::sqrt(a);
    case DeviceFunction::exp:
      return std::exp(a);
    case DeviceFunction::log:
      return std::log(a);
    case DeviceFunction::tanh:
    case DeviceFunction::tanh_builtin:
      return std::tanh(a);
    case DeviceFunction::sigmoid:
      return 1 / (1 + std::exp(-a));
    case DeviceFunction::sin:
      return std::sin(a);
    case DeviceFunction::cos:
      return std::cos(a);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

#if PARITY_HAS_MPFR

bool has_exact_functions() {
  return true;
}

struct ExactFunction::Numbers {
  static constexpr mpfr_prec_t bits = 160;
  mpfr_t a, b, exact, difference;
  Numbers() { mpfr_inits2(bits, a, b, exact, difference, static_cast<mpfr_ptr>(nullptr)); }
  ~Numbers() { mpfr_clears(a, b, exact, difference, static_cast<mpfr_ptr>(nullptr)); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
};

ExactFunction::ExactFunction(DeviceFunction function)
    : function_(function), numbers_(std::make_unique<Numbers>()) {}
ExactFunction::~ExactFunction() = default;

void ExactFunction::evaluate(double a, double b) {
  Numbers& n = *numbers_;
  mpfr_set_d(n.a, a, MPFR_RNDN);
  switch (function_) {
    case DeviceFunction::div:
      mpfr_set_d(n.b, b, MPFR_RNDN);
      mpfr_div(n.exact, n.a, n.b, MPFR_RNDN);
      break;
    case DeviceFunction::sqrt:
      mpfr_sqrt(n.exact, n.a, MPFR_RNDN);
      break;
    case DeviceFunction::inverse_sqrt:
    case DeviceFunction::inverse_sqrt_builtin:
      mpfr_rec_sqrt(n.exact, n.a, MPFR_RNDN);
      break;
    case DeviceFunction::exp:
      mpfr_exp(n.exact, n.a, MPFR_RNDN);
      break;
    case DeviceFunction::log:
      mpfr_log(n.exact, n.a, MPFR_RNDN);
      break;
    case DeviceFunction::tanh:
    case DeviceFunction::tanh_builtin:
      mpfr_tanh(n.exact, n.a, MPFR_RNDN);
      break;
    case DeviceFunction::sigmoid:
      mpfr_neg(n.b, n.a, MPFR_RNDN);
      mpfr_exp(n.b, n.b, MPFR_RNDN);
      mpfr_add_ui(n.b, n.b, 1, MPFR_RNDN);
      mpfr_ui_div(n.exact, 1, n.b, MPFR_RNDN);
      break;
    case DeviceFunction::sin:
      mpfr_sin(n.exact, n.a, MPFR_RNDN);
      break;
    case DeviceFunction::cos:
      mpfr_cos(n.exact, n.a, MPFR_RNDN);
      break;
    default:
      mpfr_set_nan(n.exact);
  }
}

double ExactFunction::value(double a, double b) {
  evaluate(a, b);
  return mpfr_get_d(numbers_->exact, MPFR_RNDN);
}

double ExactFunction::error_ulp(double a, double b, double got, const FloatFormat& format) {
  evaluate(a, b);
  Numbers& n = *numbers_;
  if (mpfr_nan_p(n.exact)) return std::numeric_limits<double>::quiet_NaN();
  const double beyond = std::ldexp(1.0, format.max_exponent + 1);
  got = std::clamp(got, -beyond, beyond);
  if (mpfr_cmp_d(n.exact, beyond) > 0) mpfr_set_d(n.exact, beyond, MPFR_RNDN);
  if (mpfr_cmp_d(n.exact, -beyond) < 0) mpfr_set_d(n.exact, -beyond, MPFR_RNDN);
  long exponent = format.min_exponent;
  if (mpfr_regular_p(n.exact))
    exponent = std::clamp(static_cast<long>(mpfr_get_exp(n.exact)) - 1,
                          static_cast<long>(format.min_exponent), static_cast<long>(format.max_exponent));
  mpfr_sub_d(n.difference, n.exact, got, MPFR_RNDA);
  mpfr_mul_2si(n.difference, n.difference, format.precision - 1 - exponent, MPFR_RNDA);
  return std::fabs(mpfr_get_d(n.difference, MPFR_RNDA));
}

#else

bool has_exact_functions() {
  return false;
}

struct ExactFunction::Numbers {};
ExactFunction::ExactFunction(DeviceFunction function) : function_(function) {}
ExactFunction::~ExactFunction() = default;
void ExactFunction::evaluate(double, double) {}
double ExactFunction::value(double, double) {
  return std::numeric_limits<double>::quiet_NaN();
}
double ExactFunction::error_ulp(double, double, double, const FloatFormat&) {
  return std::numeric_limits<double>::quiet_NaN();
}

#endif

}  // namespace parity
