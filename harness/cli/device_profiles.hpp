#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/profile/profiled_device.hpp"

namespace parity::cli {

/// The devices of a run with the profiles that were given for them.
struct ProfiledDevices {
  std::vector<std::unique_ptr<ProfiledDevice>> profiled;
  std::vector<Device*> devices;  ///< those selected, in their order; profiled ones in place of their own
  std::map<const Device*, std::string>
      texts;                       ///< for the records: what a profile does, or that there is none
  std::vector<std::string> notes;  ///< for people; empty without profiles
};

/// Reads the files and gives each to the selected devices that it is of. Errors: no profile; one that is of
/// none of the devices, which names the difference, unless `others_too`: the files are for other devices too.
Result<ProfiledDevices> apply_profiles(const std::vector<std::string>& files,
                                       const std::vector<Device*>& devices, bool others_too = false);

}  // namespace parity::cli
