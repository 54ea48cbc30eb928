#pragma once
#include <string>
#include <string_view>

#include "harness/ladder/record.hpp"
#include "harness/profile/device_profile.hpp"

namespace parity {

/// Version of the profile's JSON form; a reader refuses a newer one.
inline constexpr int profile_schema = 1;

/// A profile as JSON, indented or (indent -1) on one line: device with driver, every answer, the errors of
/// every function with its worst argument and the largest of every binade, findings, and where it comes from.
std::string profile_json(const DeviceProfile& profile, const Provenance& from, int indent = 1);

/// What profile_json wrote, as far as contracts need it: device, answers, functions (worst arguments left
/// out). The error names the field and what it needs.
Result<DeviceProfile> parse_profile_json(std::string_view text);

}  // namespace parity
