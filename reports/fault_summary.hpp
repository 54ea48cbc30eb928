#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/faults/binomial_interval.hpp"
#include "reports/fault_log.hpp"

namespace parity {

/// How often something was seen in how many trials.
struct Rate {
  std::int64_t seen = 0, trials = 0;
  double value() const { return trials == 0 ? 0 : static_cast<double>(seen) / static_cast<double>(trials); }
  faults::BinomialInterval interval() const { return faults::clopper_pearson(seen, trials); }
};

/// One fault on one device. Trials in which it did not act (idle), or that no path could take, are not in the
/// rates.
struct FaultRow {
  const FaultEntry* entry = nullptr;
  enum class State { caught, missed, absent } state = State::absent;
  std::string why;        ///< of a miss or an absence
  bool explained = true;  ///< a miss whose reason the catalogue lists
  std::vector<std::string> paths;
  Rate nominal;           ///< caught at nominal severity
  std::int64_t idle = 0;  ///< nominal trials in which every bit was the healthy one's
  std::array<Rate, faults::check_count> checks{};
  std::array<Rate, 4> thresholds{};
};

/// Detection against severity of one kind of change to results of one format, on all its trials.
struct SeverityCurve {
  const FaultEntry* entry = nullptr;
  std::string format;  ///< "f16": that of the case's results
  std::string name() const { return entry->name + ", " + format; }
  struct Point {
    double severity = 0;
    Rate caught, bounds;  ///< by the verdict; by bounds and aggregates alone
    std::array<Rate, 4> thresholds{};
    std::int64_t idle = 0;
  };
  std::vector<Point> points;  ///< strongest first, as in the catalogue
  /// The weakest severity from which on every stronger one was caught in at least 99 of 100 trials.
  std::optional<double> detectable, detectable_by_bounds;
};

/// What one device's trials say.
struct FaultSummary {
  const FaultRun* run = nullptr;
  std::vector<FaultRow> rows;
  std::vector<SeverityCurve> curves;
  Rate faults;                                     ///< faults caught in every nominal trial
  Rate nominal;                                    ///< nominal trials caught
  std::array<Rate, faults::check_count> checks{};  ///< over the same trials
  std::array<Rate, 4> thresholds{};
  std::int64_t unhealthy = 0;    ///< trials whose healthy run did not pass
  std::int64_t unexplained = 0;  ///< misses without a listed reason

  std::int64_t healthy_tensors = 0, healthy_cases = 0;
  std::int64_t alarms = 0;                                         ///< healthy cases that do not pass
  std::array<std::int64_t, faults::check_count> healthy_checks{};  ///< cases a check alone would stop at
  std::array<std::int64_t, 4> healthy_thresholds{};

  /// At least 99% of the faults caught, every miss explained, no healthy case stopped.
  bool satisfied() const;
};
FaultSummary summarise(const FaultRun& run);

/// For a terminal: per device a row a fault with the checks that saw it, then rates.
std::string fault_table(const FaultSummary& summary);
/// A page: rates per check and threshold with their intervals, severities, false alarms, misses, what is not
/// expressible, and a row a fault. `pictures`: whether the files stand beside the text.
std::string fault_markdown(std::span<const FaultSummary> summaries, bool pictures);

}  // namespace parity
