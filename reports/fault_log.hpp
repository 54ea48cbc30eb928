#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/faults/trial.hpp"

namespace parity {

/// One fault as a run on a device set out to try it.
struct FaultEntry {
  std::string name, what;
  int rung = 0;               ///< of its first case
  std::string kind;           ///< "kernel", or the kind of change to a healthy result
  std::string severity_unit;  ///< of such a change; empty: it has none
  std::string absent;         ///< why it was not tried
  std::string known_miss;     ///< why it is known to be missed here
};

/// A healthy case, run to count false alarms.
struct HealthyEntry {
  std::string case_text, path;
  int rung = 0;
  std::int64_t tensors = 0;  ///< compared
  Verdict verdict = Verdict::pass;
  faults::Findings findings{};
  std::array<bool, 4> thresholds{};
  std::string reason;
};

/// Everything `parity faults` found on one device.
struct FaultRun {
  std::string device, name, driver, api, commit, started;  ///< device: its id
  bool order_withheld = false, held_out = false;
  int seeds = 0, repeats = 0;
  std::vector<FaultEntry> entries;
  std::vector<faults::TrialResult> trials;
  std::vector<HealthyEntry> healthy;
  bool complete = false;  ///< ended as planned
};

// The lines of a log, without a newline. A run begins with its own line; those that follow belong to it.
std::string begin_line(const FaultRun& run);
std::string to_json_line(const FaultEntry& entry);
std::string to_json_line(const faults::TrialResult& trial);
std::string to_json_line(const HealthyEntry& entry);
std::string end_line();

/// Reads logs; a torn last line (a killed run) is left out. The error names file and line.
Result<std::vector<FaultRun>> parse_fault_log(std::string_view text, const std::string& name);

/// The runs of one log with those in one that add to an earlier one: the same device, driver and settings,
/// and faults that it has not. A run that tries one of them again stays on its own, so that no trial stands
/// in for another.
std::vector<FaultRun> joined_runs(std::vector<FaultRun> runs);

}  // namespace parity
