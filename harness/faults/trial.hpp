#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/faults/catalogue.hpp"
#include "harness/faults/check.hpp"
#include "harness/faults/fault_switch.hpp"
#include "harness/ladder/runner.hpp"

namespace parity::faults {

/// One run with one fault: on which case and path, how strong, where.
struct Trial {
  const CatalogueFault* fault = nullptr;
  Case c;
  std::string path;
  Damage damage;         ///< of a change to a result
  bool nominal = false;  ///< its nominal severity, on a case of the catalogue
};

enum class Outcome : std::uint8_t {
  caught,       ///< the verdict is no pass
  missed,       ///< it passes, and the result has not the bits of the healthy one
  idle,         ///< every bit is the healthy one's: the fault did not act, there was nothing to see
  unhealthy,    ///< the healthy run does not pass: nothing was tried
  unsupported,  ///< the device or path cannot take the case, or the faulty kernel; or the case is untrusted
                ///< there
};
std::string_view name_of(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view text);

/// What came of a trial; plain data.
struct TrialResult {
  std::string fault, case_text, path, device;  ///< device: its id
  int rung = 0;
  bool nominal = false;
  double severity = 0;
  int position = 0;
  std::uint64_t seed = 1;
  Outcome outcome = Outcome::idle;
  Verdict verdict = Verdict::pass;
  Findings findings{};
  std::array<bool, 4> thresholds{};  ///< caught by each of threshold_names, in any output
  double error = 0;                  ///< worst |error| over its expected spread, of all outputs
  std::string reason;
};

/// A healthy run, and what the checks and thresholds say of it.
struct HealthyRun {
  Verdict verdict = Verdict::pass;
  std::string reason;
  std::int64_t tensors = 0;  ///< judged
  Findings findings{};
  std::array<bool, 4> thresholds{};
  std::uint64_t bits = 0;  ///< hash of every judged output
};

/// Runs cases on one device, healthy and with faults. Each case runs healthy first, so that the paths' orders
/// are confirmed by healthy kernels; healthy runs are remembered.
class TrialRunner {
 public:
  TrialRunner(const OpTable& ops, const StageTable& stages, Device& device, bool withhold_order, int repeats);

  Device& device() { return switch_; }
  const StageTable& stages() const { return stages_; }
  /// The paths a trial of the case is made on: those of `wanted` that take it or, with none wanted, the first
  /// that does; `several`: besides the first that declares its order, the first with cooperative matrices and
  /// the first that does not declare its order.
  std::vector<std::string> paths_for(const Case& c, const std::vector<std::string>& wanted, bool several);

  const HealthyRun& healthy(const Case& c, const std::string& path);
  /// `faulty`: the device with the fault's kernels; null for a change to a result.
  TrialResult run(const Trial& trial, Device* faulty);

 private:
  struct Observed;
  Record judged(const Case& c, const std::string& path, Observed& observed);

  const StageTable& stages_;
  FaultSwitch switch_;
  Runner runner_;
  std::map<std::string, HealthyRun> healthy_;
  Observed* observed_ = nullptr;  ///< where the run in progress leaves what it sees
};

}  // namespace parity::faults
