#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace parity::cli {

/// Writes to standard output. A reader that went away (a closed pipe) is no error: the rest is dropped.
void print(std::string_view text);
/// Writes a line to standard error, after "parity: ".
void complain(std::string_view text);
/// Reports an error and gives the exit code that belongs to its kind.
int report(const Error& error);
/// Opens what the caller closed of standard input, output and error, so that no file takes its place and is
/// printed into. First thing in a program.
void open_standard_streams();
/// Flushes standard output; false when something printed did not arrive (disk full), closed pipes aside.
bool output_arrived();

/// Colours are for a terminal, and not with NO_COLOR set (https://no-color.org).
bool colour_wanted();
/// Writes a file that appears whole or not at all (temporary file, then rename). A link is followed; what is
/// no file, a device or a pipe, is written to.
Result<void> write_file(const std::filesystem::path& file, std::string_view text);
/// The same, "-" being standard output.
Result<void> write_or_print(const std::string& file, std::string_view text);
/// A word as a POSIX shell reads it back: quoted when it has to be.
std::string shell_quoted(std::string_view word);

}  // namespace parity::cli
