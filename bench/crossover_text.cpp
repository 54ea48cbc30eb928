#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/crossover.hpp"

namespace parity {
namespace {

/// Microseconds with three digits that count, never with an exponent.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  return us < 10    ? fmt::format("{:.2f}", us)
         : us < 100 ? fmt::format("{:.1f}", us)
                    : fmt::format("{:.0f}", us);
}

std::string ratio(double host, double device) {
  const double r = host / device;
  return r < 10 ? fmt::format("{:.2g}", r) : fmt::format("{:.0f}", r);
}

/// "loses to the CPU below n = 192"; `last`: the largest size measured.
std::string outcome_text(const Crossover& crossover, std::int64_t first, std::int64_t last) {
  switch (crossover.kind) {
    case Crossover::Kind::unmeasured:
      return "was not measured";
    case Crossover::Kind::wins:
      return fmt::format("beats the CPU at every size from n = {} to {}", first, last);
    case Crossover::Kind::loses:
      return fmt::format("loses to the CPU at every size from n = {} to {}", first, last);
    case Crossover::Kind::from:
      return fmt::format("loses to the CPU below n = {}", crossover.size);
    case Crossover::Kind::mixed:
      return fmt::format("loses to the CPU at some sizes and wins at n = {}", fmt::join(crossover.won, ", "));
  }
  return "";
}

}  // namespace

std::string verdict_text(const CrossoverRun& run) {
  const std::string what = fmt::format("{} {}", run.stage, run.path);
  if (run.times.empty())
    return fmt::format("{}: {} was not timed: {}", run.device.id, what,
                       run.note.empty() ? "no size" : run.note);
  const std::int64_t first = run.times.front().size, last = run.times.back().size;
  const Crossover device = crossover_by_device_time(run.times);
  const std::string by_round_trip = outcome_text(crossover_by_round_trip(run.times), first, last);
  const std::string by_device = outcome_text(device, first, last);
  if (device.kind != Crossover::Kind::unmeasured && by_round_trip == by_device)
    return fmt::format("{} {} ({}, by round trip and by device time)", run.device.id, by_device, what);
  std::string text = fmt::format("{} {} ({}, round trip)", run.device.id, by_round_trip, what);
  if (device.kind != Crossover::Kind::unmeasured)
    text += fmt::format("; by device time alone it {}", by_device);
  return text;
}

std::string crossover_text(const CrossoverRun& run) {
  std::string text = fmt::format("{} {}  {}, {}\n", run.stage, run.path, run.precision, run.shape);
  const auto row = [&](const auto&... cell) {
    text += fmt::format("  {:>6}{:>12}{:>15}{:>10}{:>9}{:>12}{:>16}\n", cell...);
  };
  if (!run.times.empty())
    row("n", "device us", "round trip us", "CPU us", "threads", "CPU/device", "CPU/round trip");
  for (const SizeTimes& t : run.times)
    row(t.size, t.device ? microseconds(*t.device) : "-", microseconds(t.round_trip), microseconds(t.host),
        t.host_threads, t.device ? ratio(t.host, *t.device) : "-", ratio(t.host, t.round_trip));
  if (!run.times.empty() && !run.note.empty()) text += fmt::format("  {}\n", run.note);
  return text + verdict_text(run) + ".\n";
}

}  // namespace parity
