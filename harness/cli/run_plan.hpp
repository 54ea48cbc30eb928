#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/device_profiles.hpp"
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
  std::string suite = "smoke", path, nan = "reject", reference = "auto", out;
  std::string seed;  ///< empty: each case's own
  int repeats = 3;
  double timeout_seconds = 60;
  bool no_order_effects = false, validate = false, json = false, append = false, each_case = false,
       git = false;
};

/// A runner with what its records share.
struct PlannedRunner {
  const DeviceInfo* device = nullptr;
  Provenance provenance;
  std::string repro_suffix;
  std::unique_ptr<Runner> runner;
};

/// One case on one path of one device.
struct WorkItem {
  const PlannedRunner* on = nullptr;
  Case c;
  std::string text;  ///< the case's
  std::string path;
  int rung = 0;
};

/// Everything a run does, in order: device by device, case by case.
struct RunPlan {
  std::vector<std::unique_ptr<PlannedRunner>> runners;
  std::vector<WorkItem> items;
  std::vector<std::string> notes;  ///< said before the run
};

/// The cases to run: --case texts, else the suite; dimensions from --input; --seed applied.
Result<std::vector<BoundCase>> read_cases(const RunRequest& request, const UserInputs& inputs,
                                          const StageTable& stages);

/// The same for two plans that set out to record the same: equal cases, inputs, paths and devices.
std::string identity_of(const RunPlan& plan);

/// Runs and judges one case; whatever goes wrong is the record's verdict.
Record run_item(const WorkItem& item);

/// Cases on the devices' paths, filtered. An unknown --path is an error that lists the known ones.
Result<RunPlan> make_plan(const RunRequest& request, const Context& context, const BackendSet& backends,
                          const ProfiledDevices& profiled);

}  // namespace parity::cli
