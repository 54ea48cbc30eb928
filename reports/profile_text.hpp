#pragma once
#include <string>

#include "harness/profile/device_profile.hpp"

namespace parity {

/// A profile as tables for a terminal: answers beside what is promised, the errors of the functions, and
/// every finding in a sentence.
std::string profile_text(const DeviceProfile& profile);

/// The same as Markdown, without a heading.
std::string profile_markdown(const DeviceProfile& profile);

}  // namespace parity
