#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/assignment.hpp"
#include "harness/ladder/replay.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

/// Which of a path's declared models a device was seen to follow: those that gave every bit of a calibration
/// run, made once per device and path. From then on one of them must give the bits of every case.
struct ConfirmedModels {
  std::vector<ArithmeticModel> models;
  std::string note;  ///< why there is none
};

/// Runs calibrations on one device and remembers what they showed.
class Confirmations {
 public:
  Confirmations(const OpTable& ops, const StageTable& stages, Device& device)
      : ops_(ops), stages_(stages), device_(device) {}

  /// The confirmed models of an implementation: on the first call a small healthy case that contains its op
  /// is run (the calibration case of the stage of that name, or of the first stage that uses the op). A
  /// calibration that did not get to its end (no memory, a device that failed) is an error that names the
  /// path; the next call tries again. What it showed, and that there can be none, is remembered.
  Result<const ConfirmedModels*> of(const Implementation& implementation);

 private:
  Result<ConfirmedModels> calibrate(const Implementation& implementation);

  const OpTable& ops_;
  const StageTable& stages_;
  Device& device_;
  std::map<std::string, ConfirmedModels> confirmed_;
};

}  // namespace parity
