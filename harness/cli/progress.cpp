#include "harness/cli/progress.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace parity::cli {
namespace {

constexpr std::chrono::milliseconds rewrite_every{100};
constexpr std::chrono::seconds line_every{5};

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

bool rewritable() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind && std::strcmp(kind, "dumb") != 0;
}

}  // namespace

Progress::Progress(std::size_t total)
    : total_(total), terminal_(rewritable()), last_(std::chrono::steady_clock::now()) {}

void Progress::begin(std::size_t number, const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    if (number > 1 && now - last_ < rewrite_every) return;
    const std::string line = fmt::format("[{}/{}] {}", number, total_, what).substr(0, terminal_width() - 1);
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    shown_ = true;
  } else {
    if (now - last_ < line_every) return;
    fmt::print(stderr, "parity: case {} of {}: {}\n", number, total_, what);
  }
  last_ = now;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace parity::cli
