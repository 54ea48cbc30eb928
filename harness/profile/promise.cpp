#include "harness/profile/promise.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace parity {

namespace {

Promise within(double base, double slope, std::string text) {
  Promise promise;
  promise.given = true;
  promise.base_ulp = base;
  promise.slope_ulp = slope;
  promise.text = std::move(text);
  return promise;
}

Promise nothing(std::string text) {
  Promise promise;
  promise.text = std::move(text);
  return promise;
}

constexpr double correctly_rounded_ulp = 0.5;

std::string text_of(const FunctionAccuracy& accuracy) {
  if (correctly_rounded(accuracy)) return "correctly rounded";
  std::string text = accuracy.slope_ulp > 0
                         ? fmt::format("{:.4g} + {:.4g}|x| ULP", accuracy.base_ulp, accuracy.slope_ulp)
                         : fmt::format("{:.4g} ULP", accuracy.base_ulp);
  return text + ", relative";
}

}  // namespace

Promise vulkan_promise(DeviceFunction function, DType format) {
  using enum DeviceFunction;
  const bool half = format == DType::f16;
  switch (function) {
    case div: {
      Promise promise =
          within(2.5, 0, half ? "2.5 ULP for |b| in [2^-14, 2^14]" : "2.5 ULP for |b| in [2^-126, 2^126]");
      promise.range_of_divisor = true;
      promise.range_low = half ? 0x1p-14 : 0x1p-126;
      promise.range_high = half ? 0x1p14 : 0x1p126;
      return promise;
    }
    case exp:
      return half ? within(1, 2, "1 + 2|x| ULP") : within(3, 2, "3 + 2|x| ULP");
    case log: {
      Promise promise = within(3, 0, half ? "3 ULP, in [0.5, 2] 2^-7" : "3 ULP, in [0.5, 2] 2^-21");
      promise.inside_low = 0.5;
      promise.inside_high = 2;
      promise.inside_absolute = half ? 0x1p-7 : 0x1p-21;
      return promise;
    }
    case inverse_sqrt:
      return within(2, 0, "2 ULP");
    case sqrt: {
      // 1 / inversesqrt(x): 2 and 2.5 ULP, each up to 2 u relative; products of errors are below a quarter.
      Promise promise = within(4.75, 0, "as 1 / inversesqrt: 4.75 ULP, relative");
      promise.relative_unit = half ? 0x1p-10 : 0x1p-23;
      return promise;
    }
    case sin:
    case cos: {
      Promise promise = within(0, 0, half ? "2^-7 in [-pi, pi]" : "2^-11 in [-pi, pi]");
      promise.absolute = half ? 0x1p-7 : 0x1p-11;
      promise.range_high = std::numbers::pi;
      return promise;
    }
    case tanh_builtin:
      return nothing("as sinh / cosh: nothing near 0 and for large |x|");
    default:
      return nothing("");
  }
}

Promise cuda_promise(DeviceFunction function, DType format) {
  using enum DeviceFunction;
  if (format == DType::f16) return nothing("");
  Promise promise;
  switch (function) {
    case div:
    case sqrt:
      promise = within(correctly_rounded_ulp, 0, "correctly rounded");
      break;
    case log:
      promise = within(1, 0, "1 ULP");
      break;
    case exp:
    case tanh:
    case tanh_builtin:
    case inverse_sqrt_builtin:
    case sin:
    case cos:
      promise = within(2, 0, "2 ULP");
      break;
    default:
      return nothing("");
  }
  promise.specials = true;
  return promise;
}

Promise declared_promise(DeviceFunction function, const Implementation& implementation) {
  using enum DeviceFunction;
  const ArithmeticModel& model = implementation.contract;
  const FunctionAccuracy* accuracy = nullptr;
  switch (function) {
    case div:
      accuracy = &model.divide;
      break;
    case sqrt:
      accuracy = &model.sqrt;
      break;
    case inverse_sqrt:
      accuracy = &model.inverse_sqrt;
      break;
    case exp:
      accuracy = &model.exp;
      break;
    case log:
      accuracy = &model.log;
      break;
    case tanh:
      accuracy = &model.tanh;
      break;
    case sigmoid:
      accuracy = &model.sigmoid;
      break;
    default:
      return nothing("");
  }
  Promise promise = within(accuracy->base_ulp, accuracy->slope_ulp, text_of(*accuracy));
  if (correctly_rounded(*accuracy)) {
    promise.base_ulp = correctly_rounded_ulp;
  } else {
    // Such an accuracy is a sum of relative errors. CUDA's sigmoid: exp 4u, 1 + e rounds once (u), the
    // division once (u): 6u, "3 ULP". CUDA's 1 / sqrt: u and u, 2u, "1 ULP". A result just below a power of
    // two has a spacing of only u relative, so 6u are almost 6 ULP there: no more than the contract allows.
    promise.relative_unit = 0x1p-23;
  }
  // 2^-126 absolute stands for flushed results, which are counted apart from the others.
  promise.absolute = accuracy->absolute == 0x1p-126 ? 0 : accuracy->absolute;
  return promise;
}

Promise binding_promise(DeviceFunction function, const DeviceInfo& device,
                        const Implementation& implementation) {
  const DType format = implementation.stores.front();
  const bool vulkan = device.backend == "vulkan", cuda = device.backend == "cuda";
  Promise promise = vulkan ? vulkan_promise(function, format)
                    : cuda ? cuda_promise(function, format)
                           : Promise{};
  if (promise.given || format != DType::f32) return promise;
  return declared_promise(function, implementation);
}

}  // namespace parity
