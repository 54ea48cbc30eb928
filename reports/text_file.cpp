#include "reports/text_file.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace parity {

tl::unexpected<Error> file_error(const std::filesystem::path& file, std::string_view what, int code) {
  const bool environment =
      code == ENOENT || code == EACCES || code == ENOTDIR || code == EISDIR || code == EROFS;
  return fail(environment ? ErrorKind::bad_input : ErrorKind::internal,
              fmt::format("{}: {}: {}", file.string(), what, std::strerror(code)));
}

Result<std::string> read_text_file(const std::filesystem::path& file, std::string_view kind) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    return bad_input(fmt::format("{}: this is a directory, not {}", file.string(), kind));
  if (std::filesystem::is_character_file(file, ignored))
    return bad_input(fmt::format("{}: this is a device, not {}", file.string(), kind));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return file_error(file, "cannot be opened", errno);
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) return file_error(file, "cannot be read", errno);
  return std::move(text).str();
}

}  // namespace parity
