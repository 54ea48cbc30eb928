#pragma once
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/restated_device.hpp"
#include "harness/profile/device_profile.hpp"

namespace parity {

/// What a profile makes of the contracts of a device's own kernels. Only measured facts tighten: errors over
/// all arguments there are, and a subnormal mode that every operation has. Everything else keeps the hard
/// bound of what is promised, and the tighter check is inconclusive.
struct ProfileUse {
  std::vector<std::string> tightened;     ///< "exp: 1.02 + 1.44|x| ULP for 3 + 2|x| ULP"
  std::vector<std::string> inconclusive;  ///< "log: measured on a sample"
  /// Both as one text for a record.
  std::string text() const;
};

/// Error, which names the difference, unless the profile is of this device with this driver and interface.
Result<void> check_profile(const DeviceProfile& profile, const DeviceInfo& device);

/// The accuracy that was measured, where that is sound and better than `promised`; else why not.
Result<FunctionAccuracy> measured_accuracy(const FunctionMeasure& measure, const FunctionAccuracy& promised);

/// A device whose declared paths have the contracts and candidate arithmetics that the profile leaves. The
/// device must outlive it.
class ProfiledDevice final : public RestatedDevice {
 public:
  static Result<std::unique_ptr<ProfiledDevice>> create(Device& device, const DeviceProfile& profile);
  const ProfileUse& use() const { return use_; }

 private:
  using RestatedDevice::RestatedDevice;
  ProfileUse use_;
};

/// What is said of a device without a profile.
inline constexpr const char* no_profile_text =
    "none: functions and subnormals are bounded by what is promised; tighter checks inconclusive";

}  // namespace parity
