#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/commands.hpp"

namespace parity::cli {

/// Measures what the arithmetic of each device of a run is like, from a sample of the arguments, in a worker
/// process a device, and leaves profile.json and .md in the directory (of several devices profile-ID.json).
/// What cannot be measured is said and fails nothing; a profile that is there is kept.
void leave_profiles(const Context& context, const std::vector<std::string>& devices,
                    const std::filesystem::path& directory, double timeout_seconds);

}  // namespace parity::cli
