#pragma once
#include "harness/cli/run_plan.hpp"

namespace parity::cli {

/// Devices that were opened, and the plan on them. In the order in which they depend on each other.
struct OpenedPlan {
  BackendSet backends;
  ProfiledDevices profiled;
  RunPlan plan;
};

/// Loads the backends, chooses devices, applies profiles, makes the plan. `one_of_several`: the request was
/// made for more devices than this one, profiles and paths of which are no mistake.
Result<OpenedPlan> open_plan(const Context& context, const RunRequest& request, bool one_of_several = false);

}  // namespace parity::cli
