#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/worker/message.hpp"
#include "harness/worker/worker_process.hpp"

namespace parity {

struct SupervisorOptions {
  double case_seconds = 1200;  ///< for one case, all that belongs to it; then its worker is killed
  double start_seconds = 300;  ///< for a worker to be ready
  double end_seconds = 10;     ///< for a worker that has nothing more to do to end
  int most_failed_starts = 3;  ///< workers in a row that ended without beginning a case
  /// Cases may have to be run again (Taken::again): no case begins before the result of the one before it is
  /// taken.
  bool may_repeat = false;
};

/// What is known of a case whose worker did not live to tell its result.
struct LostCase {
  bool timed_out = false;
  std::string reason;                   ///< one sentence
  std::vector<std::string> last_words;  ///< the last lines that the worker printed
};

/// What one device has to do.
struct Lane {
  struct Work {
    std::size_t number = 0;  ///< as the worker counts; ascending in a lane
    std::size_t item = 0;    ///< as the run counts
  };
  std::string name;  ///< for messages: the device
  WorkerMain main;
  std::vector<Work> work;
  /// Told of what a worker said when it was ready; an error ends the lane.
  std::function<Result<void>(std::string_view payload)> check_ready;
  std::vector<bool> passed;  ///< by number: cases that passed, here or in an earlier run
};

/// Hands cases to a worker process a lane, side by side, and outlives whatever becomes of them. A worker that
/// is lost costs the case it had begun and no other.
class Supervisor {
 public:
  enum class Taken {
    passed,
    other,
    garbage,  ///< this is no result of that case
    again,    ///< the case is to be run once more
  };
  struct Events {
    std::function<void(std::size_t item)> begun = [](std::size_t) {};
    std::function<Taken(std::size_t item, std::string_view payload)> done;
    /// true: the case is to be run once more.
    std::function<bool(std::size_t item, const LostCase& lost)> lost;
    std::function<void(std::string_view text)> printed = [](std::string_view) {};  ///< by a worker
    std::function<void(const std::string& sentence)> note = [](const std::string&) {};
    std::function<bool()> stopping = [] { return false; };  ///< true: begin no further case
  };

  explicit Supervisor(SupervisorOptions options, Events events);
  ~Supervisor();

  /// Returns the lane's number. `work` may be set until run().
  std::size_t add(Lane lane);
  Lane& lane(std::size_t number);
  /// Starts a lane's first worker and waits until it is ready.
  Result<void> open(std::size_t lane);
  /// Lets a waiting worker end; run() starts another where there is work.
  void retire(std::size_t lane);
  /// Works until every lane is at its end. The first error of a lane that was given up; the others went on.
  Result<void> run();

 private:
  struct State;
  void start(State& state);
  void step();
  void service(State& state);
  void take_messages(State& state);
  void take(State& state, const WorkerMessage& message);
  void finish_case(State& state, const WorkerMessage& message);
  void move_on(State& state, bool last, bool again);
  void order_next(State& state);
  void watch_time(State& state);
  void end_of_worker(State& state, int status);
  void failed_start(State& state, const std::string& what);
  void spoil(State& state, std::string why);
  void remember(State& state, std::string_view printed);

  SupervisorOptions options_;
  Events events_;
  std::vector<std::unique_ptr<State>> lanes_;
};

}  // namespace parity
