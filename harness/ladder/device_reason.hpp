#pragma once
#include <span>
#include <string>
#include <string_view>

namespace parity {

struct DeviceInfo;

/// Whether a device is meant by `where`: its backend, "software" (a processor that plays one), a part of its
/// name, or BACKEND:PART.
bool fits_device(std::string_view where, const DeviceInfo& device);

/// What a list says of some devices.
struct DeviceReason {
  std::string where;  ///< fits_device(); a list of misses also has "withheld": no order
  std::string reason;
};
/// The first that is of the device; empty: none.
std::string reason_for(std::span<const DeviceReason> reasons, const DeviceInfo& device);

}  // namespace parity
