#include "harness/worker/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace parity {
namespace {

using Clock = std::chrono::steady_clock;

/// How long an end, a time limit or an interrupt may go unseen where no pipe tells of it.
constexpr int look_around_ms = 200, end_seen_ms = 1;
constexpr std::size_t largest_message = std::size_t{256} << 20;
constexpr std::size_t most_last_words = 12;
constexpr std::size_t longest_word = 300;
constexpr std::size_t most_shown = 60;

double seconds_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

/// A piece of a pipe's bytes, for a message.
std::string excerpt(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, most_shown)) text += c >= ' ' && c <= '~' ? c : '?';
  return bytes.size() > most_shown ? text + "..." : text;
}

}  // namespace

struct Supervisor::State {
  enum class Doing {
    nothing,   ///< there is no worker
    starting,  ///< until it is ready
    waiting,   ///< it is ready
    ordered,   ///< it has an order and has not begun
    working,
    leaving,  ///< it has nothing more to do
  };
  Lane lane;
  std::optional<WorkerProcess> worker;
  Doing doing = Doing::nothing;
  std::size_t position = 0;  ///< in lane.work: what is next, or being done
  std::size_t told = 0;      ///< numbers below were told to this worker as passed, or done by it
  int failed_starts = 0;     ///< in a row
  Clock::time_point since;   ///< of `doing`
  std::string spoilt;        ///< why the worker was killed
  Clock::time_point killed;
  bool timed_out = false;
  bool dismissed = false;  ///< killed because nothing is left to do
  std::deque<std::string> last_words;
  LineBuffer printed;
  std::optional<Error> given_up;

  void now(Doing what) {
    doing = what;
    since = Clock::now();
  }
  double seconds() const { return seconds_since(since); }
  bool at_end() const { return given_up || position >= lane.work.size(); }
};

Supervisor::Supervisor(SupervisorOptions options, Events events)
    : options_(options), events_(std::move(events)) {}

Supervisor::~Supervisor() = default;

std::size_t Supervisor::add(Lane lane) {
  lanes_.push_back(std::make_unique<State>());
  lanes_.back()->lane = std::move(lane);
  return lanes_.size() - 1;
}

Lane& Supervisor::lane(std::size_t number) {
  return lanes_[number]->lane;
}

Result<void> Supervisor::open(std::size_t number) {
  State& state = *lanes_[number];
  while (!state.given_up && state.doing != State::Doing::waiting) {
    if (state.doing == State::Doing::nothing) start(state);
    step();
  }
  if (state.given_up) return tl::unexpected(*state.given_up);
  return {};
}

void Supervisor::retire(std::size_t number) {
  State& state = *lanes_[number];
  if (state.doing != State::Doing::waiting) return;
  state.worker->close_input();
  state.now(State::Doing::leaving);
}

Result<void> Supervisor::run() {
  using Doing = State::Doing;
  for (;;) {
    const bool stopping = events_.stopping();
    bool busy = false;
    for (const auto& state : lanes_) {
      const bool over = stopping || state->at_end();
      if (state->doing == Doing::nothing && !over) start(*state);
      if (state->doing == Doing::waiting && !over) order_next(*state);
      // A worker that still starts has nothing to finish.
      if (over && (state->doing == Doing::waiting || state->doing == Doing::starting)) {
        state->dismissed = state->doing == Doing::starting;
        if (state->dismissed) state->worker->kill_now();
        state->worker->close_input();
        state->now(Doing::leaving);
      }
      busy = busy || state->doing != Doing::nothing;
    }
    if (!busy) break;
    step();
  }
  for (const auto& state : lanes_)
    if (state->given_up) return tl::unexpected(*state->given_up);
  return {};
}

void Supervisor::start(State& state) {
  auto worker = WorkerProcess::start(state.lane.main);
  if (!worker) {
    state.given_up = worker.error();
    return;
  }
  state.worker.emplace(*std::move(worker));
  state.told = 0;
  state.spoilt.clear();
  state.timed_out = state.dismissed = false;
  state.last_words.clear();
  state.printed = {};
  state.now(State::Doing::starting);
}

/// Waits for something to happen and deals with it.
void Supervisor::step() {
  std::vector<pollfd> descriptors;
  int wait = look_around_ms;
  for (const auto& state : lanes_) {
    if (!state->worker) continue;
    // Its pipes are closed: it ends any moment, and no pipe will tell.
    if (state->worker->message_descriptor() < 0) wait = end_seen_ms;
    for (const int in : {state->worker->message_descriptor(), state->worker->output_descriptor()})
      if (in >= 0) descriptors.push_back({in, POLLIN, 0});
    if (state->worker->has_unsent()) descriptors.push_back({state->worker->input_descriptor(), POLLOUT, 0});
  }
  ::poll(descriptors.data(), descriptors.size(), wait);
  for (const auto& state : lanes_)
    if (state->worker) service(*state);
}

void Supervisor::service(State& state) {
  state.worker->flush();
  // Asked before the pipes are read: what an ended worker wrote is then all there.
  const std::optional<int> ended = state.worker->ended();
  take_messages(state);
  if (!state.worker) return;
  if (ended) return end_of_worker(state, *ended);
  if (state.worker->torn_message().size() > largest_message)
    spoil(state, fmt::format("wrote {} bytes that are no message", state.worker->torn_message().size()));
  watch_time(state);
}

void Supervisor::take_messages(State& state) {
  for (;;) {
    std::vector<std::string> lines;
    std::string printed;
    state.worker->read(lines, printed);
    if (lines.empty() && printed.empty()) return;
    for (const std::string& line : lines) {
      if (!state.spoilt.empty()) break;
      if (const auto message = parse_worker_message(line))
        take(state, *message);
      else
        spoil(state, fmt::format("wrote what is no message, '{}'", excerpt(line)));
    }
    // After the messages: what a case printed is forgotten when the next one begins.
    if (!printed.empty()) remember(state, printed);
  }
}

void Supervisor::take(State& state, const WorkerMessage& message) {
  using Kind = WorkerMessage::Kind;
  using Doing = State::Doing;
  const bool expected = [&] {
    const bool its_own =
        state.position < state.lane.work.size() && state.lane.work[state.position].number == message.number;
    switch (message.kind) {
      case Kind::ready:
      case Kind::refused:
        return state.doing == Doing::starting;
      case Kind::begun:
        return state.doing == Doing::ordered && its_own;
      case Kind::done:
      case Kind::last:
        return state.doing == Doing::working && its_own;
    }
    return false;
  }();
  if (state.doing == Doing::leaving) return;
  if (!expected) return spoil(state, "wrote a message out of turn");
  switch (message.kind) {
    case Kind::refused:
      state.given_up = message.error;
      state.now(Doing::leaving);
      return;
    case Kind::ready:
      state.now(Doing::waiting);
      if (state.lane.check_ready)
        if (auto checked = state.lane.check_ready(message.payload); !checked) {
          state.given_up = checked.error();
          state.worker->close_input();
          state.now(Doing::leaving);
        }
      return;
    case Kind::begun:
      state.failed_starts = 0;
      state.last_words.clear();
      state.now(Doing::working);
      return events_.begun(state.lane.work[state.position].item);
    case Kind::done:
    case Kind::last:
      return finish_case(state, message);
  }
}

void Supervisor::finish_case(State& state, const WorkerMessage& message) {
  const Lane::Work work = state.lane.work[state.position];
  const bool last = message.kind == WorkerMessage::Kind::last;
  // The worker goes on with the next case while the result of this one is read and kept. Whether this one
  // passed it knows itself.
  if (!options_.may_repeat) move_on(state, last, false);
  const Taken taken = events_.done(work.item, message.payload);
  bool again = taken == Taken::again;
  std::string why;
  if (taken == Taken::garbage) {
    why = fmt::format("wrote what is no result, '{}'", excerpt(message.payload));
    again = events_.lost(work.item, {false,
                                     fmt::format("its worker {}; it was stopped", why),
                                     {state.last_words.begin(), state.last_words.end()}});
  }
  if (options_.may_repeat) move_on(state, last, again);
  // A case that the worker has been given since then is not lost: its turn comes again.
  if (taken == Taken::garbage) return spoil(state, std::move(why));
  if (work.number < state.lane.passed.size()) state.lane.passed[work.number] = taken == Taken::passed;
}

/// From a case that has ended to the next one, or to the same `again`; `last`: the worker wants to end.
void Supervisor::move_on(State& state, bool last, bool again) {
  if (!again) ++state.position;
  if (last) {
    state.worker->close_input();
    state.now(State::Doing::leaving);
    return;
  }
  state.now(State::Doing::waiting);
  if (!state.at_end() && !events_.stopping()) order_next(state);
}

void Supervisor::order_next(State& state) {
  WorkerOrder order;
  order.run = state.lane.work[state.position].number;
  for (std::size_t number = state.told; number < std::min(order.run, state.lane.passed.size()); ++number)
    if (state.lane.passed[number]) order.passed.push_back(number);
  state.told = order.run + 1;
  state.worker->send(order_line(order));
  state.worker->flush();
  state.now(State::Doing::ordered);
}

void Supervisor::watch_time(State& state) {
  using Doing = State::Doing;
  const double limit = state.doing == Doing::starting  ? options_.start_seconds
                       : state.doing == Doing::leaving ? options_.end_seconds
                                                       : options_.case_seconds;
  if (!state.spoilt.empty()) {
    // One that hangs in the kernel cannot be killed, and is not waited for.
    if (seconds_since(state.killed) > options_.end_seconds) end_of_worker(state, SIGKILL);
    return;
  }
  if (state.doing == Doing::waiting || state.seconds() < limit) return;
  state.timed_out = true;
  spoil(state, fmt::format("did not {} within {:.3g} s",
                           state.doing == Doing::starting  ? "get ready"
                           : state.doing == Doing::leaving ? "end"
                                                           : "finish",
                           limit));
}

/// Nothing more that this worker says counts.
void Supervisor::spoil(State& state, std::string why) {
  if (!state.spoilt.empty()) return;
  state.spoilt = std::move(why);
  state.killed = Clock::now();
  state.worker->kill_now();
}

void Supervisor::remember(State& state, std::string_view printed) {
  events_.printed(printed);
  state.printed.add(printed);
  while (const auto line = state.printed.take()) {
    if (line->empty()) continue;
    state.last_words.push_back(line->substr(0, longest_word));
    if (state.last_words.size() > most_last_words) state.last_words.pop_front();
  }
}

void Supervisor::end_of_worker(State& state, int status) {
  using Doing = State::Doing;
  const Doing doing = state.doing;
  if (!state.printed.rest().empty()) state.last_words.push_back(state.printed.rest().substr(0, longest_word));
  const bool by_itself = state.spoilt.empty();
  std::string what = by_itself ? describe_end(status) : state.spoilt + " and was killed";
  if (by_itself) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      what += ", as the kernel does when memory runs out";
    if (const std::string& torn = state.worker->torn_message(); !torn.empty())
      what += fmt::format(" in the middle of a message, '{}'", excerpt(torn));
  }
  state.worker.reset();
  state.doing = Doing::nothing;
  switch (doing) {
    case Doing::nothing:
      return;
    case Doing::starting:
      return failed_start(state, what);
    case Doing::waiting:
    case Doing::ordered:
      events_.note(fmt::format("{}: between two cases a worker {}", state.lane.name, what));
      return failed_start(state, what);
    case Doing::working: {
      const std::size_t item = state.lane.work[state.position].item;
      const bool again =
          events_.lost(item, {state.timed_out,
                              fmt::format("its worker {}{}", what, by_itself ? " without a result" : ""),
                              {state.last_words.begin(), state.last_words.end()}});
      if (!again) ++state.position;
      return;
    }
    case Doing::leaving:
      if (status != 0 && !state.given_up && !state.dismissed)
        events_.note(fmt::format("{}: at its end a worker {}", state.lane.name, what));
      return;
  }
}

void Supervisor::failed_start(State& state, const std::string& what) {
  if (++state.failed_starts < options_.most_failed_starts) return;
  std::string message =
      fmt::format("{}: given up: {} workers in a row were lost before they began a case; the last {}",
                  state.lane.name, state.failed_starts, what);
  for (const std::string& line : state.last_words) message += "\n  " + line;
  state.given_up = Error{ErrorKind::internal, std::move(message)};
}

}  // namespace parity
