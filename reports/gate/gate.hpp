#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/gate/baseline.hpp"
#include "reports/gate/drift.hpp"
#include "reports/gate/waivers.hpp"

namespace parity {

/// Something a gate has to say about one case on one path.
struct GateFinding {
  enum class Kind {
    contract,    ///< fail, suspect, crash or timeout
    lost_path,   ///< the baseline has cases on this path and the records none
    lost_case,   ///< in the baseline, not in the records
    not_judged,  ///< passed in the baseline, now untrusted or unsupported
    flaky,       ///< run several times (reruns, or several records), with different verdicts
    bits,        ///< other bits of the same inputs, where repeated runs had the same
    drift,       ///< in contract, and its errors moved
    slower,      ///< more time against the reference than the baseline
    fresh,       ///< not in the baseline; never fails the gate
    waiver,      ///< a waiver that has expired, or that nothing needs
    incomplete,  ///< the run that left the records did not get to its end; not to be waived
  };
  Kind kind = Kind::contract;
  std::string case_text, path;
  std::string tensor;      ///< empty: the whole case
  std::string text;        ///< what, by how much, and why that is significant
  std::string repro = {};  ///< the command that runs the case again; empty: there is nothing to run
  bool fails = true;
  std::string waived = {};  ///< "reason, until date"; then it does not fail
};
std::string_view name_of(GateFinding::Kind kind);

struct GateOptions {
  double chance = 1e-6;               ///< of a drift found anywhere though nothing changed
  double smallest = 1.1;              ///< DriftLimits::smallest
  double slower = 1.5;                ///< times the baseline's ratio to be mentioned
  std::optional<double> fail_slower;  ///< times the baseline's ratio to fail
  std::string today;                  ///< "2026-11-30", for waivers
  std::vector<std::string> missing;   ///< what the records lack of their run, a sentence each
};

/// What a gate decided.
struct GateReport {
  DeviceInfo device;
  std::string driver_before, commit;
  std::vector<GateFinding> findings;        ///< by kind, then as the records have them
  std::int64_t compared = 0;                ///< cases in the baseline and in the records
  std::int64_t judged = 0;                  ///< of these, those that are neither unsupported nor untrusted
  std::int64_t same_bits = 0, results = 0;  ///< results compared by their bits
  bool passes() const;                      ///< nothing fails, and something was judged
  std::int64_t failures() const;
};

/// Compares the records of one device with its baseline. Of several records of one case and path all must
/// pass; different verdicts among them and their reruns are `flaky`. Error: no records, records of several
/// commits, or of another device or backend than the baseline's.
Result<GateReport> run_gate(std::span<const Record> records, const Baseline& baseline,
                            const std::vector<Waiver>& waivers, const GateOptions& options);

}  // namespace parity
