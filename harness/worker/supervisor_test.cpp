#include "harness/worker/supervisor.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

namespace parity {
namespace {

/// What a faulty worker does when it has begun a case.
using Fault = std::function<void(WorkerChannel&)>;

/// A worker whose result is the number of the case; `faults` befall it on the way.
WorkerMain worker(std::map<std::size_t, Fault> faults = {}) {
  return [faults = std::move(faults)](WorkerChannel& channel) {
    channel.write(ready_line("{}"));
    while (const auto line = channel.read_line()) {
      const auto order = parse_order(*line);
      if (!order) return 2;
      channel.write(begun_line(order->run));
      if (const auto fault = faults.find(order->run); fault != faults.end()) fault->second(channel);
      std::string told;
      for (const std::size_t number : order->passed) told += fmt::format(" {}", number);
      channel.write(done_line(order->run, fmt::format("\"{}:{}\"", order->run, told)));
    }
    return 0;
  };
}

/// A run of cases 0..count-1 on one lane, and what came of it.
struct Outcome {
  Result<void> result;
  std::map<std::size_t, std::string> done;
  std::map<std::size_t, LostCase> lost;
  std::vector<std::string> notes;
  std::string printed;
};

Lane lane_of(WorkerMain main, std::size_t count) {
  Lane lane;
  lane.name = "test:0";
  lane.main = std::move(main);
  for (std::size_t i = 0; i < count; ++i) lane.work.push_back({i, i});
  lane.passed.assign(count, false);
  return lane;
}

Outcome run(
    std::vector<Lane> lanes, const SupervisorOptions& options = {},
    const std::function<bool()>& stopping = [] { return false; }) {
  Outcome outcome;
  Supervisor::Events events;
  events.done = [&](std::size_t item, std::string_view payload) {
    if (payload.empty() || payload.front() != '"') return Supervisor::Taken::garbage;
    outcome.done[item] = payload;
    return Supervisor::Taken::passed;
  };
  events.lost = [&](std::size_t item, const LostCase& lost) {
    outcome.lost[item] = lost;
    return false;
  };
  events.printed = [&](std::string_view text) { outcome.printed += text; };
  events.note = [&](const std::string& note) { outcome.notes.push_back(note); };
  events.stopping = stopping;
  Supervisor supervisor(options, std::move(events));
  for (Lane& lane : lanes) supervisor.add(std::move(lane));
  outcome.result = supervisor.run();
  return outcome;
}

Outcome run(WorkerMain main, std::size_t count, const SupervisorOptions& options = {}) {
  std::vector<Lane> lanes;
  lanes.push_back(lane_of(std::move(main), count));
  return run(std::move(lanes), options);
}

/// Ends the process the way a fault in a driver does, whatever a sanitizer thinks of the signal.
void die_by(int signal) {
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

TEST(Supervisor, CasesAreDoneByOneWorker) {
  const Outcome outcome = run(worker(), 3);
  EXPECT_TRUE(outcome.result);
  // It passed them itself: it is told of none.
  const std::map<std::size_t, std::string> expected{{0, "\"0:\""}, {1, "\"1:\""}, {2, "\"2:\""}};
  EXPECT_EQ(outcome.done, expected);
  EXPECT_TRUE(outcome.lost.empty());
  EXPECT_TRUE(outcome.notes.empty());
}

TEST(Supervisor, EveryFaultCostsItsCaseAndNoOther) {
  struct Planted {
    const char* name;
    Fault fault;
    const char* reason;
    bool timed_out = false;
  };
  const std::vector<Planted> faults = {
      {"segmentation fault", [](WorkerChannel&) { die_by(SIGSEGV); }, "was killed by SIGSEGV"},
      {"abort", [](WorkerChannel&) { die_by(SIGABRT); }, "was killed by SIGABRT"},
      {"no memory", [](WorkerChannel&) { ::raise(SIGKILL); },
       "SIGKILL (Killed), as the kernel does when memory"},
      {"exit 0", [](WorkerChannel&) { ::_exit(0); }, "exited with code 0 without a result"},
      {"exit 3", [](WorkerChannel&) { ::_exit(3); }, "exited with code 3 without a result"},
      {"exception", [](WorkerChannel&) { throw std::runtime_error("planted"); }, "exited with code 70"},
      {"garbage", [](WorkerChannel& c) { c.write("\x01\xff no message\n"); }, "no message, '?? no message'"},
      {"no result", [](WorkerChannel& c) { c.write(done_line(1, "nonsense")); }, "no result, 'nonsense'"},
      {"half a message",
       [](WorkerChannel& c) {
         c.write(R"({"done":1,"res)");
         ::_exit(0);
       },
       "in the middle of a message, '{\"done\":1,\"res'"},
      {"another's result", [](WorkerChannel& c) { c.write(done_line(2, "\"2\"")); }, "out of turn"},
      {"endless loop",
       [](WorkerChannel&) {
         for (volatile bool forever = true; forever;) continue;
       },
       "did not finish within 0.2 s and was killed", true},
  };
  for (const Planted& planted : faults) {
    SupervisorOptions options;
    if (planted.timed_out) options.case_seconds = 0.2;
    const Outcome outcome = run(worker({{1, planted.fault}}), 4, options);
    EXPECT_TRUE(outcome.result) << planted.name;
    ASSERT_EQ(outcome.lost.size(), 1u) << planted.name;
    EXPECT_NE(outcome.lost.at(1).reason.find(planted.reason), std::string::npos) << outcome.lost.at(1).reason;
    EXPECT_EQ(outcome.lost.at(1).timed_out, planted.timed_out) << planted.name;
    ASSERT_EQ(outcome.done.size(), 3u) << planted.name;
    // The fresh worker is told what the one before it passed; of the case that was lost it is not.
    EXPECT_EQ(outcome.done.at(2), "\"2: 0\"") << planted.name;
    EXPECT_EQ(outcome.done.at(3), "\"3:\"") << planted.name;
  }
}

TEST(Supervisor, ACaseIsRunAgainWhenItsResultOrItsLossAsksForIt) {
  std::map<std::size_t, int> done, lost;
  std::vector<std::size_t> order;
  Supervisor::Events events;
  events.done = [&](std::size_t item, std::string_view payload) {
    if (payload.front() != '"') return Supervisor::Taken::garbage;
    order.push_back(item);
    return ++done[item] == 1 && item == 1 ? Supervisor::Taken::again : Supervisor::Taken::passed;
  };
  events.lost = [&](std::size_t item, const LostCase&) { return ++lost[item] == 1; };
  SupervisorOptions options;
  options.may_repeat = true;
  Supervisor supervisor(options, std::move(events));
  supervisor.add(lane_of(worker({{0, [](WorkerChannel& c) { c.write(done_line(0, "nonsense")); }},
                                 {2, [](WorkerChannel&) { die_by(SIGSEGV); }}}),
                         4));
  EXPECT_TRUE(supervisor.run());
  EXPECT_EQ(done, (std::map<std::size_t, int>{{1, 2}, {3, 1}}));
  EXPECT_EQ(lost, (std::map<std::size_t, int>{{0, 2}, {2, 2}}));
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 1, 3}));
}

TEST(Supervisor, LastWordsAreKeptAndWhatIsPrintedGarblesNoMessage) {
  const Outcome outcome = run(worker({{0,
                                       [](WorkerChannel&) {
                                         fmt::print("{{\"done\":0,\"result\":\"not this\"}}\n");
                                         std::fflush(stdout);
                                         for (int i = 0; i < 30; ++i) fmt::print(stderr, "line {}\n", i);
                                         fmt::print(stderr, "the end");
                                         die_by(SIGABRT);
                                       }}}),
                              1);
  ASSERT_EQ(outcome.lost.size(), 1u);
  const std::vector<std::string>& words = outcome.lost.at(0).last_words;
  ASSERT_GE(words.size(), 2u);
  EXPECT_LE(words.size(), 13u);
  EXPECT_EQ(words.back(), "the end");
  EXPECT_EQ(words[words.size() - 2], "line 29");
  EXPECT_NE(outcome.printed.find("not this"), std::string::npos);
}

TEST(Supervisor, AWorkerMayAskToBeReplaced) {
  const Outcome outcome = run(
      [](WorkerChannel& channel) {
        channel.write(ready_line("{}"));
        const auto order = parse_order(*channel.read_line());
        channel.write(begun_line(order->run));
        channel.write(last_line(order->run, fmt::format("\"{}\"", ::getpid())));
        return 0;
      },
      3);
  EXPECT_TRUE(outcome.result);
  ASSERT_EQ(outcome.done.size(), 3u);
  EXPECT_NE(outcome.done.at(0), outcome.done.at(1));
  EXPECT_TRUE(outcome.notes.empty()) << outcome.notes.front();
}

TEST(Supervisor, AnEndBetweenTwoCasesCostsNone) {
  // Ends after every case without having said so.
  const Outcome outcome = run(
      [](WorkerChannel& channel) {
        channel.write(ready_line("{}"));
        const auto order = parse_order(*channel.read_line());
        channel.write(begun_line(order->run));
        channel.write(done_line(order->run, "\"done\""));
        return 9;
      },
      3);
  EXPECT_TRUE(outcome.result);
  EXPECT_EQ(outcome.done.size(), 3u);
  EXPECT_TRUE(outcome.lost.empty());
  ASSERT_FALSE(outcome.notes.empty());
  EXPECT_NE(outcome.notes.front().find("exited with code 9"), std::string::npos);
}

TEST(Supervisor, ADeviceThatKillsFreshWorkersIsGivenUpAndOthersGoOn) {
  std::vector<Lane> lanes;
  lanes.push_back(lane_of(
      [](WorkerChannel&) {
        fmt::print(stderr, "cannot map the device\n");
        die_by(SIGSEGV);
        return 0;
      },
      2));
  lanes.push_back(lane_of(worker(), 2));
  for (Lane::Work& work : lanes[1].work) work.item += 2;
  const Outcome outcome = run(std::move(lanes));
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::internal);
  for (const char* part : {"test:0: given up: 3 workers", "SIGSEGV", "cannot map the device"})
    EXPECT_NE(outcome.result.error().message.find(part), std::string::npos) << outcome.result.error().message;
  EXPECT_EQ(outcome.done.size(), 2u);
  EXPECT_TRUE(outcome.lost.empty());
}

TEST(Supervisor, AnOrdinaryRefusalKeepsItsKind) {
  const Outcome outcome = run(
      [](WorkerChannel& channel) {
        channel.write(refused_line({ErrorKind::missing_device, "no device \"x\"\nhere"}));
        return 0;
      },
      1);
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::missing_device);
  EXPECT_EQ(outcome.result.error().message, "no device \"x\"\nhere");
}

TEST(Supervisor, AWorkerThatNeverGetsReadyIsGivenUp) {
  SupervisorOptions options;
  options.start_seconds = 0.1;
  options.most_failed_starts = 2;
  const Outcome outcome = run(
      [](WorkerChannel&) {
        ::pause();
        return 0;
      },
      1, options);
  ASSERT_FALSE(outcome.result);
  EXPECT_NE(outcome.result.error().message.find("did not get ready within 0.1 s"), std::string::npos);
}

TEST(Supervisor, StoppingFinishesWhatWasBegun) {
  bool stop = false;
  std::vector<Lane> lanes;
  lanes.push_back(lane_of(worker({{0, [](WorkerChannel&) { ::usleep(20000); }}}), 1000));
  std::vector<std::size_t> begun;
  Supervisor::Events events;
  std::size_t done = 0;
  events.begun = [&](std::size_t item) {
    begun.push_back(item);
    stop = true;
  };
  events.done = [&](std::size_t, std::string_view) { return ++done, Supervisor::Taken::passed; };
  events.lost = [](std::size_t, const LostCase&) { return false; };
  events.stopping = [&] { return stop; };
  Supervisor supervisor({}, std::move(events));
  supervisor.add(std::move(lanes.front()));
  EXPECT_TRUE(supervisor.run());
  EXPECT_EQ(begun.size(), 1u);
  EXPECT_EQ(done, 1u);
}

TEST(Supervisor, AWorkerHoldsNoFileOfItsParent) {
  const int lock = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GT(lock, STDERR_FILENO);
  const Outcome outcome = run(
      [&](WorkerChannel& channel) {
        channel.write(ready_line("{}"));
        const auto order = parse_order(*channel.read_line());
        channel.write(begun_line(order->run));
        channel.write(last_line(order->run, ::fcntl(lock, F_GETFD) == -1 ? "\"closed\"" : "\"open\""));
        return 0;
      },
      1);
  ::close(lock);
  EXPECT_EQ(outcome.done.at(0), "\"closed\"");
}

/// Whether a process is there and is not merely waiting to be taken notice of.
bool lives(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string word, state;
  return stat >> word >> word >> state && state != "Z" && state != "X";
}

TEST(Supervisor, AWorkerDiesWithItsParent) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    // A worker that does not listen, and tells its number through its output.
    Supervisor::Events events;
    events.printed = [&](std::string_view text) {
      if (::write(pipe[1], text.data(), text.size()) < 0) ::_exit(1);
    };
    Supervisor supervisor({}, std::move(events));
    supervisor.add(lane_of(
        [](WorkerChannel&) {
          fmt::print("{}\n", ::getpid());
          std::fflush(stdout);
          for (;;) ::pause();
          return 0;
        },
        1));
    static_cast<void>(supervisor.run());
    ::_exit(1);
  }
  std::array<char, 32> text{};
  ASSERT_GT(::read(pipe[0], text.data(), text.size() - 1), 0);
  const pid_t child = std::atoi(text.data());
  ASSERT_GT(child, 0);
  EXPECT_TRUE(lives(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  for (int i = 0; i < 500 && lives(child); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(lives(child));
  for (const int end : pipe) ::close(end);
}

TEST(WorkerMessages, AreReadBackOrRefused) {
  const auto order = parse_order(R"({"run":12,"passed":[1,2,30]})");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->run, 12u);
  EXPECT_EQ(order->passed, (std::vector<std::size_t>{1, 2, 30}));
  EXPECT_TRUE(parse_order(R"({"run":1,"passed":[]})"));
  for (const char* bad : {"", "{}", R"({"run":})", R"({"run":1,"passed":[1)", R"({"run":1,"passed":[1;2]})",
                          R"({"run":-1,"passed":[]})", R"({"run":99999999999999999999,"passed":[]})"})
    EXPECT_FALSE(parse_order(bad)) << bad;
  for (const char* bad : {"", "}", R"({"done":1})", R"({"done":x,"result":1})", R"({"begun":1,"x":1})",
                          R"({"refused":{"kind":77,"message":"m"}})", R"({"refused":[]})", R"({"begun":1)"})
    EXPECT_FALSE(parse_worker_message(bad)) << bad;
}

}  // namespace
}  // namespace parity
