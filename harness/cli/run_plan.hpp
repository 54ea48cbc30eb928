#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/device_profiles.hpp"
#include "harness/cli/plan_outline.hpp"
#include "harness/cli/user_inputs.hpp"
#include "harness/ladder/runner.hpp"

namespace parity::cli {

/// The options of `parity run`.
struct RunRequest {
  std::vector<std::string> filter;  ///< words on "stage path case"
  std::vector<std::string> devices;
  std::vector<std::string> cases;     ///< case texts or patterns; empty: the suite
  std::vector<std::string> inputs;    ///< NAME=FILE[:TENSOR]
  std::vector<std::string> profiles;  ///< files
  std::string suite = "smoke", path, nan = "reject", reference = "auto", out, resume;
  std::string shard, times;
  std::string seed;     ///< empty: each case's own
  std::string started;  ///< when the run began, for every process of it
  int repeats = 3;
  int rerun = 0;         ///< how often a case that failed is run again, at most
  double max_flops = 0;  ///< cases with more operations in a run are left out; 0: none is
  double timeout_seconds = 60;
  double case_timeout_seconds = 0;  ///< 0: follows from timeout_seconds
  int side_by_side = 1;             ///< processes that run cases of this request
  bool no_order_effects = false, validate = false, json = false, append = false, each_case = false,
       git = false, in_process = false, reveal = false, allow_flaky = false, no_profile = false;
};

/// Everything a run does, and what does it: a runner for each group, a case for each item of the outline.
struct RunPlan {
  PlanOutline outline;
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<Case> cases;
};

/// The cases to run: --case texts, else the suite; dimensions from --input; --seed applied.
Result<std::vector<BoundCase>> read_cases(const RunRequest& request, const UserInputs& inputs,
                                          const StageTable& stages);

/// The options that records depend on beside the plan: " --repeats 3 --validate".
std::string settings_text(const RunRequest& request);

/// Runs and judges one case; whatever goes wrong is the record's verdict.
Record run_item(const RunPlan& plan, std::size_t item);
/// Takes note of a case that passed in another process (Runner::pass_over).
void pass_over_item(const RunPlan& plan, std::size_t item);

/// An unknown --path is an error that lists the known ones.
Result<void> check_path(const std::string& path, const BackendSet& backends);

/// Cases on the devices' paths, filtered.
Result<RunPlan> make_plan(const RunRequest& request, const Context& context, const ProfiledDevices& profiled);

}  // namespace parity::cli
