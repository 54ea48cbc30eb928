// Which rounding explains results, and what interfaces promise.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/profile/profile_answers.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {

namespace {

struct RoundingMode {
  const char* name;
  double (*round)(double toward_zero, double away, double exact, bool even_toward_zero);
};

constexpr double mode_nearest_even(double in, double out, double x, bool even) {
  const double a = x - in, b = out - x, to_in = a < 0 ? -a : a, to_out = b < 0 ? -b : b;
  return to_in == to_out ? (even ? in : out) : to_in < to_out ? in : out;
}
constexpr double mode_nearest_away(double in, double out, double x, bool) {
  const double a = x - in, b = out - x, to_in = a < 0 ? -a : a, to_out = b < 0 ? -b : b;
  return to_in < to_out ? in : out;
}
constexpr double mode_zero(double in, double, double, bool) {
  return in;
}
constexpr double mode_up(double in, double out, double x, bool) {
  return x > 0 ? out : in;
}
constexpr double mode_down(double in, double out, double x, bool) {
  return x > 0 ? in : out;
}

constexpr RoundingMode modes_of_rounding[] = {{"to nearest even", mode_nearest_even},
                                              {"to nearest, ties away from zero", mode_nearest_away},
                                              {"toward zero", mode_zero},
                                              {"upward", mode_up},
                                              {"downward", mode_down}};

std::string value_of(const DeviceInfo& device, std::string_view name) {
  for (const DeviceFact& fact : device.facts)
    if (fact.name == name) return fact.value;
  return "";
}

}  // namespace

std::string rounding_of(std::span<const double> exact, std::span<const double> got,
                        const FloatFormat& format) {
  std::array<bool, std::size(modes_of_rounding)> fits;
  fits.fill(true);
  std::int64_t rounded = 0, wrong = 0;
  std::string example;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double x = exact[i], in = round_to(format, x, Rounding::toward_zero);
    // The next number away from zero: half the spacing beyond, rounded.
    const double ulp = ulp_at(format, in), out = in == x ? x : in + std::copysign(ulp, x);
    const bool even = std::fmod(in / ulp, 2) == 0;
    rounded += in != x;
    if (got[i] != in && got[i] != out && wrong++ == 0) example = fmt::format("{} became {}", x, got[i]);
    for (std::size_t m = 0; m < fits.size(); ++m)
      fits[m] = fits[m] && got[i] == (in == x ? x : modes_of_rounding[m].round(in, out, x, even));
  }
  for (std::size_t m = 0; m < fits.size(); ++m)
    if (fits[m] && rounded > 0) return modes_of_rounding[m].name;
  if (wrong == 0) return "to either neighbour";
  return fmt::format("not correctly rounded: {} of {}, {}", wrong, exact.size(), example);
}

ArithmeticPromise arithmetic_promise(const DeviceInfo& device, DType format) {
  ArithmeticPromise promise;
  if (device.backend == "vulkan") {
    const std::string declared =
        value_of(device, format == DType::f16 ? "declared_modes_16" : "declared_modes_32");
    promise.nearest = declared.find("round to nearest even") != std::string::npos;
    promise.keeps_subnormals = declared.find("denormals preserved") != std::string::npos;
    promise.rounding_text =
        promise.nearest ? "to nearest even (RoundingModeRTE)" : "to either neighbour (no mode declared)";
    promise.subnormal_text = promise.keeps_subnormals ? "kept (DenormPreserve)" : "may be flushed";
    promise.minmax_text = "either operand";
    return promise;
  }
  promise.nearest = promise.number_beats_nan = true;
  promise.keeps_subnormals = promise.functions_keep_subnormals = true;
  promise.rounding_text = "to nearest even";
  promise.subnormal_text = "kept";
  promise.minmax_text = "the number";
  return promise;
}

}  // namespace parity
