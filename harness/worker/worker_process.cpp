#include "harness/worker/worker_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>

namespace parity {
namespace {

/// A worker whose code ends with an exception.
constexpr int threw = 70;

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  /// Both ways; writing to one whose other end is gone raises no SIGPIPE where send() is asked for none.
  bool open_socket() { return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0; }
  int take(std::size_t end) { return std::exchange(ends[end], -1); }
};

/// Closes what the parent had open: the pipes of other workers, and the records, whose lock would outlive it.
void close_all_but(int a, int b) {
  std::vector<int> open;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename().string();
    int descriptor = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), descriptor).ec == std::errc{})
      open.push_back(descriptor);
  }
  for (const int descriptor : open)
    if (descriptor > STDERR_FILENO && descriptor != a && descriptor != b) ::close(descriptor);
}

/// When memory runs out, the kernel should take a worker and leave the parent, which has the records.
void offer_to_memory_killer() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (::write(file, "500", 3) < 0) ::fputs("oom_score_adj cannot be set\n", stderr);
  ::close(file);
}

[[noreturn]] void be_worker(const WorkerMain& main, pid_t parent, int in, int out, int log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(threw);  // it died before the line above
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0)
    ::dup2(nothing, STDIN_FILENO);
  close_all_but(in, out);
  offer_to_memory_killer();
  int code = threw;
  try {
    WorkerChannel channel(in, out);
    code = main(channel);
  } catch (const std::exception& error) {
    fmt::print(stderr, "the worker failed: {}\n", error.what());
  }
  std::fflush(stdout);
  std::fflush(stderr);
  // Exit handlers belong to the parent, and to drivers that may hang in them.
  ::_exit(code);
}

void close_descriptor(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

/// Everything that can be read now; closes the descriptor at its end.
std::string read_some(int& descriptor) {
  std::string bytes;
  std::array<char, 16384> block;
  while (descriptor >= 0 && bytes.size() < (std::size_t{1} << 20)) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got > 0) {
      bytes.append(block.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      close_descriptor(descriptor);
    } else if (errno != EINTR) {
      if (errno != EAGAIN) close_descriptor(descriptor);
      break;
    }
  }
  return bytes;
}

}  // namespace

std::optional<std::string> WorkerChannel::read_line() {
  std::array<char, 4096> block;
  for (;;) {
    if (auto line = lines_.take()) return line;
    const ssize_t got = ::read(in_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    lines_.add({block.data(), static_cast<std::size_t>(got)});
  }
}

void WorkerChannel::write(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(out_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) ::_exit(threw);
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

Result<WorkerProcess> WorkerProcess::start(const WorkerMain& main) {
  Pipe to, from, log;
  if (!to.open_socket() || !from.open() || !log.open())
    return fail(ErrorKind::internal, fmt::format("no pipe for a worker: {}", std::strerror(errno)));
  // What is waiting to be printed must not be printed twice.
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0)
    return fail(ErrorKind::internal, fmt::format("no process for a worker: {}", std::strerror(errno)));
  if (child == 0) be_worker(main, parent, to.ends[0], from.ends[1], log.ends[1]);
  WorkerProcess worker;
  worker.pid_ = child;
  worker.to_ = to.take(1);
  worker.from_ = from.take(0);
  worker.log_ = log.take(0);
  for (const int descriptor : {worker.to_, worker.from_, worker.log_})
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  return worker;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept {
  *this = std::move(other);
}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(to_, other.to_);
  std::swap(from_, other.from_);
  std::swap(log_, other.log_);
  std::swap(status_, other.status_);
  std::swap(unsent_, other.unsent_);
  std::swap(lines_, other.lines_);
  return *this;
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0 && !ended()) {
    kill_now();
    // One that hangs in the kernel is left to it.
    for (int i = 0; i < 200 && !ended(); ++i) ::usleep(1000);
  }
  for (int* descriptor : {&to_, &from_, &log_}) close_descriptor(*descriptor);
}

void WorkerProcess::flush() {
  while (has_unsent()) {
    const ssize_t written = ::send(to_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) return close_descriptor(to_);  // it is gone; its end is seen elsewhere
    unsent_.erase(0, static_cast<std::size_t>(written));
  }
}

void WorkerProcess::close_input() {
  close_descriptor(to_);
}

void WorkerProcess::read(std::vector<std::string>& messages, std::string& said) {
  said += read_some(log_);
  lines_.add(read_some(from_));
  while (auto line = lines_.take()) messages.push_back(*std::move(line));
}

std::optional<int> WorkerProcess::ended() {
  int status = 0;
  if (!status_ && pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void WorkerProcess::kill_now() {
  if (pid_ > 0 && !status_) ::kill(pid_, SIGKILL);
}

std::string describe_end(int status) {
  if (WIFEXITED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = ::sigabbrev_np(signal);
  return fmt::format("was killed by {}{} ({})", name ? "SIG" : "signal ",
                     name ? name : std::to_string(signal), ::strsignal(signal));
}

}  // namespace parity
