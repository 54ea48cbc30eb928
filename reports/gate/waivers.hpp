#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/backend.hpp"

namespace parity {

/// A finding that somebody accepted for a while. Texts are patterns (`*`, `?`), matched whole; an empty one
/// fits everything.
struct Waiver {
  std::string case_text, path;
  std::string kind;                       ///< of the finding: name_of(GateFinding::Kind)
  std::string backend, device, vendor;    ///< vendor: in the device's name or driver, any case of letters
  std::string driver_from, driver_below;  ///< versions as "570.86": from, included, to, excluded
  std::string reason, expires;  ///< both required; expires: "2027-03-01", the first day it no longer holds
  int line = 0;                 ///< its place in the file, from 1

  bool fits(const DeviceInfo& of) const;
  bool fits(std::string_view kind_name, std::string_view case_of, std::string_view path_of) const;
  bool expired(std::string_view today) const { return std::string_view(expires) <= today; }
};

/// A file of waivers: {"waivers": [{"case": ..., "path": ..., "reason": ..., "expires": ...}, ...]}. Unknown
/// fields, a missing reason, a date that is none are errors that name the waiver.
Result<std::vector<Waiver>> parse_waivers(std::string_view text, const std::string& name);
Result<std::vector<Waiver>> read_waivers(const std::filesystem::path& file);

/// Whether the first number with dots in `driver` ("NVIDIA 570.86.15" has 570.86.15) lies in [from, below);
/// an empty limit is none, and a driver without a number fits no range.
bool driver_in_range(std::string_view driver, std::string_view from, std::string_view below);

}  // namespace parity
