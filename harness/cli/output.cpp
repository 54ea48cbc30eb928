#include "harness/cli/output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness/cli/exit_code.hpp"

namespace parity::cli {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void complain(std::string_view text) {
  // Not fmt::print, which throws where nothing can be written.
  const std::string line = fmt::format("parity: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int report(const Error& error) {
  complain(error.message);
  return exit_code_of(error.kind);
}

bool output_arrived() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  // The write that failed may be long past and its errno with it: ask the pipe.
  pollfd out{STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // Open for reading alone: what is printed fails, as it did, and is reported. open() takes the lowest free
    // number, which is this one.
    if (::open("/dev/null", O_RDONLY) < 0) return;
  }
}

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  if (!terminal || std::strcmp(terminal, "dumb") == 0) return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

Result<void> write_file(const std::filesystem::path& file, std::string_view text) {
  std::error_code ignored;
  // A link keeps pointing where it does. A device or a pipe (/dev/stdout) cannot be replaced, only written
  // to.
  const std::filesystem::path target =
      std::filesystem::is_symlink(file, ignored) ? std::filesystem::weakly_canonical(file, ignored) : file;
  const auto status = std::filesystem::status(target, ignored);
  const bool in_place = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                        !std::filesystem::is_directory(status);
  const std::string written_to =
      in_place ? file.string() : fmt::format("{}.{}.tmp", target.string(), ::getpid());
  const auto failed = [&](const char* what) {
    const int code = errno;
    if (!in_place) ::unlink(written_to.c_str());
    const bool environment =
        code == ENOENT || code == EACCES || code == ENOTDIR || code == EISDIR || code == EROFS;
    return fail(environment ? ErrorKind::bad_input : ErrorKind::internal,
                fmt::format("{}: {}: {}", file.string(), what, std::strerror(code)));
  };
  const int flags = in_place ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC;
  const int descriptor = ::open(written_to.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) return failed("cannot be created");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int code = errno;
      ::close(descriptor);
      errno = code;
      return failed("cannot be written");
    }
    done += static_cast<std::size_t>(written);
  }
  if (::close(descriptor) != 0) return failed("cannot be written");
  if (!in_place && ::rename(written_to.c_str(), target.c_str()) != 0) return failed("cannot be put in place");
  return {};
}

Result<void> write_or_print(const std::string& file, std::string_view text) {
  if (file != "-") return write_file(file, text);
  print(text);
  return {};
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace parity::cli
