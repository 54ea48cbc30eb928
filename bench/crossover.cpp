#include "bench/crossover.hpp"

#include <algorithm>
#include <chrono>

#include "bench/host_baseline.hpp"
#include "harness/ladder/assignment.hpp"

namespace parity {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Runs first without counting, then counted until there are enough runs. `run` gives false when it failed.
template <class Run>
bool repeat(const TimingOptions& options, const Run& run, const std::function<void()>& keep) {
  const auto begin = Clock::now();
  do {
    if (!run()) return false;
  } while (seconds_since(begin) < options.warm_up_seconds);
  const auto counted = Clock::now();
  for (int i = 0; i < options.most_runs; ++i) {
    if (!run()) return false;
    keep();
    if (i + 1 >= options.least_runs && seconds_since(counted) >= options.seconds) break;
  }
  return true;
}

Result<std::map<TensorId, Tensor>> inputs_of(const Stage& stage, const Case& c, const Program& program) {
  std::map<TensorId, Tensor> inputs;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.is_view() || (spec.role != TensorSpec::Role::input && spec.role != TensorSpec::Role::state))
      continue;
    auto tensor = stage.fill(c, program, static_cast<TensorId>(i));
    if (!tensor) return tl::unexpected(tensor.error());
    inputs.emplace(static_cast<TensorId>(i), *std::move(tensor));
  }
  return inputs;
}

Result<void> time_device(Session& session, const TimingOptions& options, SizeTimes& times) {
  std::vector<double> device, round_trip;
  std::optional<Error> error;
  RunTiming last;
  const auto run = [&] {
    auto timing = session.run();
    if (!timing) {
      error = timing.error();
      return false;
    }
    last = *std::move(timing);
    return true;
  };
  const auto keep = [&] {
    round_trip.push_back(last.host_seconds);
    if (last.device_seconds) device.push_back(*last.device_seconds);
  };
  if (!repeat(options, run, keep)) return tl::unexpected(*error);
  times.round_trip = median(std::move(round_trip));
  if (!device.empty()) times.device = median(std::move(device));
  return {};
}

/// On one thread and on all, for a small case is over before other threads have begun.
void time_host(HostBaseline& baseline, const TimingOptions& options, SizeTimes& times) {
  const int all = host_threads();
  for (const int threads : all == 1 ? std::vector{1} : std::vector{1, all}) {
    set_host_threads(threads);
    std::vector<double> host;
    double last = 0;
    const auto run = [&] {
      const auto start = Clock::now();
      baseline.run();
      last = seconds_since(start);
      return true;
    };
    repeat(options, run, [&] { host.push_back(last); });
    const double typical = median(std::move(host));
    if (times.host_threads > 0 && typical >= times.host) continue;
    times.host = typical;
    times.host_threads = threads;
  }
  set_host_threads(all);
}

}  // namespace

Crossover crossover(std::span<const SizeTimes> times,
                    const std::function<std::optional<double>(const SizeTimes&)>& device_time) {
  Crossover result;
  std::size_t measured = 0;
  for (const SizeTimes& t : times) {
    const auto device = device_time(t);
    if (!device) continue;
    ++measured;
    if (*device >= t.host) {
      result.size = 0;
      continue;
    }
    if (result.size == 0) result.size = t.size;
    result.won.push_back(t.size);
  }
  if (measured == 0) return result;
  const auto only = static_cast<std::size_t>(std::ranges::count_if(
      result.won, [&](std::int64_t size) { return result.size != 0 && size >= result.size; }));
  result.kind = result.won.size() == measured ? Crossover::Kind::wins
                : result.won.empty()          ? Crossover::Kind::loses
                : only == result.won.size()   ? Crossover::Kind::from
                                              : Crossover::Kind::mixed;
  return result;
}

Crossover crossover_by_round_trip(std::span<const SizeTimes> times) {
  return crossover(times, [](const SizeTimes& t) { return std::optional(t.round_trip); });
}

Crossover crossover_by_device_time(std::span<const SizeTimes> times) {
  return crossover(times, [](const SizeTimes& t) { return t.device; });
}

Result<SizeTimes> time_case(Device& device, const Stage& stage, const Case& c, const std::string& path,
                            std::int64_t size, const TimingOptions& options) {
  auto program = stage.build(c);
  if (!program) return tl::unexpected(program.error());
  const auto assignment = assign(device, *program, path);
  if (!assignment) return tl::unexpected(assignment.error());
  const auto inputs = inputs_of(stage, c, *program);
  if (!inputs) return tl::unexpected(inputs.error());
  auto baseline = make_host_baseline(c, *program, *inputs);
  if (!baseline) return tl::unexpected(baseline.error());
  auto session = device.load(*program, assignment->paths());
  if (!session) return tl::unexpected(session.error());
  for (const auto& [id, tensor] : *inputs)
    if (auto ok = (*session)->write(id, tensor); !ok) return tl::unexpected(ok.error());
  SizeTimes times;
  times.size = size;
  if (auto ok = time_device(**session, options, times); !ok) return tl::unexpected(ok.error());
  time_host(**baseline, options, times);
  return times;
}

}  // namespace parity
