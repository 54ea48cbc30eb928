#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/plan_outline.hpp"
#include "harness/cli/run_plan.hpp"

namespace parity::cli {

/// What a run does with an item of its plan.
enum class ItemState : std::uint8_t {
  to_run,
  passed,      ///< it passed elsewhere
  left_alone,  ///< it is somebody else's, or did not pass
};

/// Who is told of what a run does.
struct RunSink {
  std::function<void(std::size_t item)> begun;
  /// false: begin no further case.
  std::function<bool(std::size_t item, Record record)> finished;
  std::function<bool()> stopping;        ///< true: begin no further case
  std::function<void()> about_to_print;  ///< on standard error
};

/// Opens devices and runs cases on them.
class RunEngine {
 public:
  virtual ~RunEngine() = default;
  virtual const PlanOutline& outline() const = 0;
  /// Runs the items that are to be run. An error says that a device was given up; others were not.
  virtual Result<void> run(const std::vector<ItemState>& states, const RunSink& sink) = 0;
};

/// In this process: what a driver does to itself it does to the whole run.
Result<std::unique_ptr<RunEngine>> open_here(const Context& context, const RunRequest& request);
/// In a worker process a device, side by side.
Result<std::unique_ptr<RunEngine>> open_workers(const Context& context, const RunRequest& request);

}  // namespace parity::cli
