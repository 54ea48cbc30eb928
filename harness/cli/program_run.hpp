#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace parity {

/// How a program ended and what it printed.
struct ProgramRun {
  int code = -1;  ///< exit code; 128 + the signal that ended it
  std::string out, err;
};

/// Runs a program with arguments and waits. `environment` adds NAME=VALUE entries. `reader_gone`: standard
/// output is a pipe whose reader is gone already. `signal` (0: none) is sent once the file
/// `signal_when_exists` is there and not empty; without such a file after `signal_after` seconds.
struct ProgramOptions {
  std::vector<std::string> environment;
  bool reader_gone = false;
  std::string stdout_file;  ///< instead of a pipe
  std::filesystem::path signal_when_exists;
  int signal = 0;
  std::uintmax_t signal_when_larger_than = 0;  ///< bytes of that file
  double signal_after = 0;
  bool streams_closed = false;        ///< standard input, output and error are closed
  std::uint64_t most_data_bytes = 0;  ///< limit on the memory of the program's data; 0: none
  std::uint64_t most_file_bytes = 0;  ///< limit on the size of the files it writes; 0: none
};
ProgramRun run_program(const std::string& program, const std::vector<std::string>& arguments,
                       const ProgramOptions& options = {});

/// All bytes of a file; none where it cannot be read.
std::string contents(const std::filesystem::path& file);

/// A directory of its own for one test, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace parity
