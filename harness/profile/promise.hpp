#pragma once
#include <cmath>
#include <string>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/device_function.hpp"

namespace parity {

/// What someone says about the error of a function: (base + slope |a|) ULP plus `absolute`, where the
/// argument is in range.
struct Promise {
  bool given = false;  ///< false: nothing is promised
  double base_ulp = 0, slope_ulp = 0, absolute = 0;
  /// 2u for a bound that was derived from relative errors, as those of contracts are: k ULP are 2ku |f|
  /// there, up to 2k true ULP just below a power of two. 0: true ULP, as interfaces promise them.
  double relative_unit = 0;
  /// Arguments a in [inside_low, inside_high] have an absolute error only (a logarithm near 1).
  double inside_low = 1, inside_high = 0, inside_absolute = 0;
  /// Nothing is promised unless |a|, of a quotient |b|, is in [range_low, range_high].
  double range_low = 0, range_high = HUGE_VAL;
  bool range_of_divisor = false;
  /// NaN and Inf where the mathematics has them, for any argument.
  bool specials = false;
  std::string text;  ///< "3 + 2|x| ULP"

  /// The error that is allowed at (a, b), where the function is `want`, in units of `ulp`, the spacing there;
  /// infinite where nothing is promised.
  double limit_ulp(double a, double b, double ulp, double want) const {
    const double ranged = range_of_divisor ? b : a, magnitude = ranged < 0 ? -ranged : ranged;
    if (!given || !(magnitude >= range_low && magnitude <= range_high)) return HUGE_VAL;
    if (a >= inside_low && a <= inside_high) return inside_absolute / ulp;
    const double mantissa = relative_unit * (want < 0 ? -want : want) / ulp;  // in [1, 2) for normal numbers
    return (base_ulp + slope_ulp * (a < 0 ? -a : a)) * (mantissa > 1 ? mantissa : 1) + absolute / ulp;
  }
};

/// The table of the Vulkan specification, "Precision and Operation of SPIR-V Instructions", for f32 and f16.
Promise vulkan_promise(DeviceFunction function, DType format);
/// The table of the CUDA C++ Programming Guide, "Mathematical Functions", for f32; for f16 only what is
/// correctly rounded.
Promise cuda_promise(DeviceFunction function, DType format);
/// What the implementation declares of its own functions (f32), relative as the contract takes it: derived
/// from the two above for kernels' own tanh, sigmoid and 1 / sqrt; what all is measured by on the CPU device.
Promise declared_promise(DeviceFunction function, const Implementation& implementation);

/// The one that binds a device: its interface's, and for what kernels make themselves the declared one.
Promise binding_promise(DeviceFunction function, const DeviceInfo& device,
                        const Implementation& implementation);

}  // namespace parity
