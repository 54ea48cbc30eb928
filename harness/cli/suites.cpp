#include "harness/cli/suites.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

namespace parity::cli {

/// A suite is written by hand: what is larger is not one.
constexpr std::size_t largest_suite = std::size_t{1} << 22;

std::string suite_summary(std::string_view text) {
  if (!text.starts_with('#')) return {};
  const std::size_t begin = text.find_first_not_of("# ");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

Result<std::vector<Case>> read_suite(const std::string& name, const StageTable& stages) {
  for (const EmbeddedSuite& suite : embedded_suites())
    if (suite.name == name) return parse_suite(suite.text, fmt::format("cases/{}.txt", name), stages);
  if (name.find_first_of("/.") == name.npos) {
    std::string known;
    for (const EmbeddedSuite& suite : embedded_suites())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", suite.name);
    return bad_input(
        fmt::format("no suite is called '{}'; there is {}, or give a file (./{})", name, known, name));
  }
  std::error_code ignored;
  std::ifstream stream(name, std::ios::binary);
  if (!stream || std::filesystem::is_directory(name, ignored))
    return bad_input(fmt::format("the suite file '{}' cannot be opened", name));
  std::string text(largest_suite, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return bad_input(fmt::format("the suite file '{}' cannot be read", name));
  if (!stream.eof())
    return bad_input(fmt::format("the suite file '{}' has more than {} bytes", name, largest_suite));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_suite(text, name, stages);
}

}  // namespace parity::cli
