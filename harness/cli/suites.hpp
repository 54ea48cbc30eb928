#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/stage.hpp"

namespace parity::cli {

/// A file of cases/, kept inside the program so that the command works from anywhere.
struct EmbeddedSuite {
  std::string_view name;  ///< "smoke"
  std::string_view text;
};
std::span<const EmbeddedSuite> embedded_suites();

/// The first comment line of a suite: what it is for.
std::string suite_summary(std::string_view text);

/// The cases of a suite: an embedded one's name, or a file (a word with '/' or '.').
Result<std::vector<Case>> read_suite(const std::string& name_or_file, const StageTable& stages);

}  // namespace parity::cli
