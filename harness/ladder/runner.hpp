#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/record.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

struct RunOptions {
  int repeats = 3;                         ///< runs per case: run-to-run bits
  bool order_effects = true;               ///< batch invariance, permutation, ensemble
  std::int64_t replay_elements = 1 << 16;  ///< replay all elements up to here, a sample beyond
  std::map<std::string, Tensor> inputs;    ///< the user's own tensors by input name; others are filled
  double memory_limit = HUGE_VAL;  ///< bytes of host memory a case may take, beside what the system has
  Provenance provenance;
  std::string repro_suffix;  ///< "--input A=..." added to the repro line
};

/// Which of a path's declared models a device was seen to follow: those that gave every bit of a calibration
/// run, made once per device and path. From then on one of them must give the bits of every case.
struct ConfirmedModels {
  bool tried = false;
  std::vector<ArithmeticModel> models;
  std::string note;  ///< why there is none
};

struct CallResult;
struct RunResult;

/// Runs cases on one device. Remembers the confirmed models of its paths.
class Runner {
 public:
  Runner(const OpTable& ops, const StageTable& stages, Device& device, RunOptions options);

  /// The paths to try for a case: every implementation of its op in the case's precision, legal here or not.
  /// `only`: a forced path, listed even when its precision differs, so that the record can say so.
  Result<std::vector<std::string>> paths_for(const Case& c, const std::string& only = {}) const;

  /// Runs and judges one case on one path. Never replaces the path; what goes wrong becomes the record's
  /// verdict and reason: unsupported (path or size), untrusted (the case cannot be built), crash (device or
  /// harness).
  Record run(const Case& c, const std::string& path);

 private:
  struct Prepared;
  Result<Prepared> prepare(const Case& c, const std::string& path) const;
  const ConfirmedModels& confirm(const Implementation& implementation, const Stage& stage, const Case& c);
  ReplayResult replay_call(const CallResult& call, const Implementation& implementation,
                           const ConfirmedModels& confirmed, std::uint64_t seed) const;
  Result<OutputRecord> judge_output(const Prepared& prepared, const Case& c, std::size_t call_index,
                                    std::size_t output, const RunResult& run, Value& reference);

  const OpTable& ops_;
  const StageTable& stages_;
  Device& device_;
  RunOptions options_;
  std::map<std::string, ConfirmedModels> confirmed_;
};

}  // namespace parity
