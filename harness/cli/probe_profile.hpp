#pragma once
#include <string>
#include <vector>

#include "harness/profile/device_profile.hpp"

namespace parity::cli {

/// The part of `parity probe` that profiles devices.
struct ProfileRequest {
  ProfileOptions options;
  std::string out;  ///< directory for profile.json and .md; several devices: profile-ID.json; empty: none
  bool json = false;
  bool always_named = false;  ///< profile-ID.json of one device too
};

struct ProfileTally {
  int profiled = 0, findings = 0, unsupported = 0, failed = 0;
};

/// "profile.json"; with always_named "profile-vulkan-0.json".
std::string profile_file(const ProfileRequest& request, const std::string& device_id,
                         const char* ending = ".json");

/// Profiles each device, prints and writes what was found. Errors: a file could not be written.
Result<ProfileTally> profile_devices(const std::vector<Device*>& devices, ProfileRequest request);

}  // namespace parity::cli
