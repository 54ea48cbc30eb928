#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/worker/line_buffer.hpp"

namespace parity {

/// The worker's end of the pipes between it and the process that started it. Blocking.
class WorkerChannel {
 public:
  WorkerChannel(int from_parent, int to_parent) : in_(from_parent), out_(to_parent) {}
  /// The next line; empty when there is no more work.
  std::optional<std::string> read_line();
  /// Writes a whole line, its newline included. Without a parent to read it there is nothing left to do: the
  /// process ends.
  void write(std::string_view line);
  int descriptor() const { return out_; }

 private:
  int in_, out_;
  LineBuffer lines_;
};

/// What a worker does. Runs in a process of its own; returns its exit code.
using WorkerMain = std::function<int(WorkerChannel&)>;

/// A worker as its parent sees it. The worker is a fork without exec: it has the program's arguments parsed
/// and everything read, and a program that was started through another (a loader, a debugger) needs no way to
/// start itself again. This asks one thing of the parent: to have no threads of its own and no device open.
/// The worker dies with its parent, does not hear Ctrl-C or SIGTERM (its parent decides what they mean),
/// holds none of the parent's files open, and writes standard output and error into a pipe of their own, so
/// that neither can garble a message. None of these calls blocks.
class WorkerProcess {
 public:
  static Result<WorkerProcess> start(const WorkerMain& main);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  /// Kills what still runs.
  ~WorkerProcess();

  /// Bytes for the worker, sent as it takes them.
  void send(std::string_view bytes) { unsent_.append(bytes); }
  bool has_unsent() const { return !unsent_.empty() && to_ >= 0; }
  void flush();
  /// Nothing more will be sent: the worker ends when it has done what it was told.
  void close_input();

  /// Reads what is there. `messages` are lines off the channel, `said` is what it printed.
  void read(std::vector<std::string>& messages, std::string& said);
  /// The beginning of a message that did not come to its end.
  const std::string& torn_message() const { return lines_.rest(); }

  /// Whether it has ended; the status of waitpid() then.
  std::optional<int> ended();
  void kill_now();

  int message_descriptor() const { return from_; }
  int output_descriptor() const { return log_; }
  int input_descriptor() const { return to_; }

 private:
  WorkerProcess() = default;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1, log_ = -1;
  std::optional<int> status_;
  std::string unsent_;
  LineBuffer lines_;
};

/// "was killed by SIGSEGV (Segmentation fault)", "exited with code 3".
std::string describe_end(int status);

}  // namespace parity
