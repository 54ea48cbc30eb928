#include "harness/ladder/device_reason.hpp"

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/ladder/backend.hpp"

namespace parity {

bool fits_device(std::string_view where, const DeviceInfo& device) {
  if (where == device.backend) return true;
  if (const std::size_t colon = where.find(':'); colon != std::string_view::npos)
    return where.substr(0, colon) == device.backend && fits_device(where.substr(colon + 1), device);
  if (where == "software")
    return std::ranges::any_of(device.facts, [](const DeviceFact& fact) {
      return fact.name == "device_type" && lower(fact.value) == "cpu";
    });
  return contains_word(device.name, where);
}

std::string reason_for(std::span<const DeviceReason> reasons, const DeviceInfo& device) {
  for (const DeviceReason& reason : reasons)
    if (fits_device(reason.where, device)) return reason.reason;
  return {};
}

}  // namespace parity
