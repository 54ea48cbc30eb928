#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/faults/trial.hpp"

namespace parity::faults {

struct PlanOptions {
  int seeds = 3;  ///< draws of the data of each case that does not name its own seed
  std::uint64_t first_seed = 1;
  bool held_out = false;      ///< other sizes and seeds, but for cases that name their seed
  bool only_nominal = false;  ///< no other severities
  bool several_paths = true;  ///< changes to a result: see TrialRunner::paths_for
};

/// What is tried of one fault on one device.
struct PlannedFault {
  const CatalogueFault* fault = nullptr;
  std::string absent;  ///< why nothing is tried: the fault cannot act or be planted there
  std::vector<Trial> trials;
};

/// A case like `c` with other sizes, odd ones between its own and twice that, and another seed; drawn from
/// `seed`. `c` itself with another seed where the stage takes no other size.
Case held_out_case(const Case& c, const StageTable& stages, std::uint64_t seed);

/// The trials of every fault: nominal severity at each case, path, position and seed; then the other
/// severities, on the first path. An error names the fault whose case cannot be read.
Result<std::vector<PlannedFault>> plan_trials(std::span<const CatalogueFault> catalogue, TrialRunner& runner,
                                              const PlanOptions& options);

/// Healthy cases for counting false alarms: the catalogue's, with fills that stress the bounds, on the same
/// paths, endlessly many: number `i` of them, each round with seeds of its own.
struct HealthyCase {
  Case c;
  std::string path;
};
Result<std::vector<HealthyCase>> healthy_cases(std::span<const CatalogueFault> catalogue, TrialRunner& runner,
                                               bool held_out);

}  // namespace parity::faults
