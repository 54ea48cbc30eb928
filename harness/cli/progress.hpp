#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace parity::cli {

/// Progress of long work on standard error: on a terminal one line that is rewritten, otherwise a plain line
/// every few seconds.
class Progress {
 public:
  explicit Progress(std::size_t total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Work item `number` (from 1) begins.
  void begin(std::size_t number, const std::string& what);
  /// Takes the rewritten line away, so that something else can be printed.
  void clear();

 private:
  std::size_t total_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace parity::cli
