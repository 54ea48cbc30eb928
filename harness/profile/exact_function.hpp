#pragma once
#include <memory>
#include <string_view>

#include "harness/ladder/device_function.hpp"
#include "harness/tensor/dtype.hpp"

namespace parity {

/// Functions whose error is measured: sqrt, inverse_sqrt, exp, log, tanh, sigmoid, sin, cos and div, in every
/// form.
bool has_exact_value(DeviceFunction function);

/// The function in fp64 by the C library: off by less than 4 units in the last place of fp64, that is by less
/// than 1e-8 ULP of fp32. div: a / b; others ignore b.
double screen_value(DeviceFunction function, double a, double b);
/// What is allowed for the error of screen_value when an error in ULP of fp32 or fp16 is compared with a
/// limit: nearer ones are decided by ExactFunction.
inline constexpr double screen_margin_ulp = 1e-6;

/// Whether this program was built with MPFR, and what to install if not.
bool has_exact_functions();
inline constexpr std::string_view no_exact_functions =
    "this program was built without MPFR, against which the errors of functions are measured: install "
    "libmpfr-dev "
    "and configure again";

/// The function by MPFR with 160 bits. One thread at a time.
class ExactFunction {
 public:
  /// Without MPFR every result is a NaN.
  explicit ExactFunction(DeviceFunction function);
  ~ExactFunction();
  ExactFunction(const ExactFunction&) = delete;
  ExactFunction& operator=(const ExactFunction&) = delete;

  /// The exact value, rounded to fp64.
  double value(double a, double b);
  /// |got - exact| in ULP of `format` at the exact value (the spacing of subnormals below the normal range,
  /// of the largest numbers above it). An infinite `got`, and an exact value beyond the format, count as the
  /// power of two behind the largest number. NaN when the exact value is not a number.
  double error_ulp(double a, double b, double got, const FloatFormat& format);

 private:
  struct Numbers;
  void evaluate(double a, double b);
  DeviceFunction function_;
  std::unique_ptr<Numbers> numbers_;
};

}  // namespace parity
