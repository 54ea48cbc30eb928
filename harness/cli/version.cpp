#include "harness/cli/version.hpp"

#include <fmt/core.h>

#include <ctime>

#include "harness/cli/build_info.hpp"

namespace parity::cli {

Provenance provenance() {
  Provenance made;
  made.commit = build_commit;
  made.version = PARITY_VERSION;
  made.flags = PARITY_FLAGS;
  made.compiler = PARITY_COMPILER;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  made.started = text;
  return made;
}

std::string version_text() {
  const Provenance made = provenance();
  return fmt::format("parity {} (commit {}, {}, {})", made.version, made.commit, made.compiler, made.flags);
}

}  // namespace parity::cli
