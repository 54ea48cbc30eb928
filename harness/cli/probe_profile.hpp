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
};

struct ProfileTally {
  int profiled = 0, findings = 0, unsupported = 0, failed = 0;
};

/// Profiles each device, prints and writes what was found. Errors: a file could not be written.
Result<ProfileTally> profile_devices(const std::vector<Device*>& devices, const ProfileRequest& request);

}  // namespace parity::cli
