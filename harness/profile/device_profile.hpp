#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/profile/function_measure.hpp"
#include "harness/profile/profile_answers.hpp"

namespace parity {

struct ProfileOptions {
  /// All 2^32 numbers of fp32; absent: on devices that are no software.
  std::optional<bool> exhaustive;
  std::int64_t sample = 2048;  ///< else: of every binade and sign
  std::uint64_t seed = 1;
  std::vector<DeviceFunction> functions;  ///< empty: all
};

/// A function that was not measured, and why.
struct AbsentFunction {
  DeviceFunction function{};
  DType format = DType::f32;
  std::string reason;
};

/// What a device's arithmetic is like.
struct DeviceProfile {
  DeviceInfo device;
  std::vector<ProfileAnswer> answers;
  std::vector<FunctionMeasure> functions;
  std::vector<AbsentFunction> absent;
  std::vector<std::string> notes;  ///< what could not be asked at all

  /// Every broken promise in a sentence, the worst argument named.
  std::vector<std::string> findings() const;
};

/// What breaks the promise of one function; empty: nothing.
std::string finding_of(const FunctionMeasure& measure);

/// A processor's arithmetic behind a graphics interface, or the CPU device.
bool is_software(const DeviceInfo& device);

/// Asks everything. `progress` is told what is being done. Errors: built without MPFR or no path of
/// device_function (unsupported), the device failed.
Result<DeviceProfile> profile_device(Device& device, const ProfileOptions& options,
                                     const std::function<void(const std::string&)>& progress);

/// The error of every function that a path of device_function has, over the sets that fit its format.
Result<std::vector<FunctionMeasure>> measure_functions(
    Device& device, const Implementation& implementation, const ProfileOptions& options,
    std::vector<AbsentFunction>& absent, const std::function<void(const std::string&)>& progress);

}  // namespace parity
