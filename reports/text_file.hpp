#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace parity {

/// What the system said about a file, as an error: "FILE: cannot be opened: No such file or directory".
tl::unexpected<Error> file_error(const std::filesystem::path& file, std::string_view what, int code);

/// All of a file. `kind`: what it should be ("a file of records"), for the message when it is a directory or
/// a device.
Result<std::string> read_text_file(const std::filesystem::path& file, std::string_view kind);

}  // namespace parity
