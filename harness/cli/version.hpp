#pragma once
#include "harness/ladder/record.hpp"

namespace parity::cli {

/// Version, commit, compiler and flags of this program, and the time now (UTC).
Provenance provenance();
/// "parity 0.1.0 (commit abc1234, ...)".
std::string version_text();

}  // namespace parity::cli
