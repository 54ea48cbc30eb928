#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/ladder/call_judge.hpp"
#include "harness/ladder/confirmation.hpp"
#include "harness/ladder/execution.hpp"
#include "harness/ladder/record.hpp"
#include "harness/ladder/sampled_judge.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

struct RunOptions {
  int repeats = 3;                                     ///< runs per case: run-to-run bits
  bool order_effects = true;                           ///< batch invariance, permutation, ensemble
  double replay_operations = most_replay_operations;   ///< replay all elements up to here, a sample beyond
  ReferenceKind reference = ReferenceKind::automatic;  ///< of a product: of all elements, or of a sample
  std::map<std::string, Tensor> inputs{};  ///< the user's own tensors by input name; others are filled
  double memory_limit = HUGE_VAL;  ///< bytes of host memory a case may take, beside what the system has
  Provenance provenance{};
  std::string repro_suffix{};  ///< "--input A=..." added to the repro line
  ObserveOutput on_output{};   ///< told of every output that is compared with a full reference
  RevealOrder reveal{};  ///< asked for orders that no candidate of a vendor's path gives; empty: nobody is
};

/// Runs cases on one device. Remembers the confirmed models of its paths.
class Runner {
 public:
  Runner(const OpTable& ops, const StageTable& stages, Device& device, RunOptions options);

  /// The paths to try for a case (assignable_paths): legal here or not.
  /// `only`: a forced path, listed even when its precision differs, so that the record can say so.
  Result<std::vector<std::string>> paths_for(const Case& c, const std::string& only = {}) const;

  /// Runs and judges one case on one path: every op call with the device's own inputs, a composite program
  /// also end to end (drift), a case of several steps with the state carried on. Repeats whose bits differ
  /// from the first run's are judged like it (something left from a run before is no rounding). Never
  /// replaces the path; what goes wrong becomes the record's verdict and reason: unsupported (path or size),
  /// untrusted (the case cannot be built), crash (device or harness).
  Record run(const Case& c, const std::string& path);

  /// Takes note of a case that another runner of this device ran and passed, so that records are what they
  /// would be had this one run it: what it measured of the order of summation is not measured again.
  void pass_over(const Case& c, const std::string& path);

 private:
  struct Prepared;
  struct Progress;
  Result<Prepared> prepare(const Case& c, const std::string& path) const;
  Result<void> run_steps(const Prepared& prepared, const Case& c, Record& record);
  Result<std::vector<OutputRecord>> judge_calls(const Prepared& prepared, const Case& c, Execution& execution,
                                                const RunResult& run, std::vector<Value>* first_reference,
                                                double* reference_seconds, std::vector<MissedMutant>* missed);
  Result<std::vector<OutputRecord>> judge_repeat(const Prepared& prepared, const Case& c,
                                                 Execution& execution, const RunResult& first,
                                                 RunResult& repeat, int number);
  Result<void> judge_step(const Prepared& prepared, const Case& c, Progress& progress, std::int64_t step,
                          Record& record);

  const OpTable& ops_;
  const StageTable& stages_;
  Device& device_;
  RunOptions options_;
  Confirmations confirmations_;
  std::set<std::string> measured_orders_;  ///< calls whose order effects are known
};

}  // namespace parity
