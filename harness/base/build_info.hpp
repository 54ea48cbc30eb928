#pragma once
#include <string_view>

namespace parity {

/// What this build was made from, for records and --version.
struct BuildInfo {
  std::string_view version;   ///< project version
  std::string_view commit;    ///< short hash; "+" behind it when the tree had changes; "unknown" outside git
  std::string_view compiler;  ///< "GNU 12.2.0"
  std::string_view flags;     ///< build type and flags
};
BuildInfo build_info();

}  // namespace parity
