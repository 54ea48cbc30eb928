#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/bisect/program_bisection.hpp"
#include "harness/bisect/scenario.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/faulty_devices.hpp"

namespace parity::cli {

/// What bisecting said of a scenario, and whether that is right.
struct ScenarioRow {
  enum class Outcome : std::uint8_t {
    right,
    wrong,
    missed,  ///< wrong, with the reason in the list
    absent,  ///< cannot be planted or run here
  } outcome = Outcome::absent;
  std::string name, what, case_text, path;
  std::string found, op, where, cause;  ///< as bisecting said
  std::string why;                      ///< wrong, missed: what is; absent: the reason
  BisectCost cost;
};

struct ScenarioRun {
  DeviceInfo device;
  std::vector<ScenarioRow> rows;
  std::int64_t count(ScenarioRow::Outcome outcome) const;
};

/// The inputs with the settings made, by name. Errors: no input has the name, the place does not fit.
Result<std::map<std::string, Tensor>> with_settings(const Stage& stage, const Case& c, const Program& program,
                                                    std::map<std::string, Tensor> inputs,
                                                    const std::vector<InputSetting>& settings);

/// Scenarios from the catalogue of faulty kernels, for those that `list` does not hold: any op that the bits
/// of a healthy device tell apart, whatever the cause is said to be.
Result<std::vector<Scenario>> catalogue_scenarios(const std::vector<Scenario>& list);

/// Runs each on the device. `show` gets each row as it is known.
Result<ScenarioRun> run_scenarios(const Context& context, const std::vector<Scenario>& list, Device& device,
                                  FaultyDevices& faulty,
                                  const std::function<void(std::size_t, const std::string&)>& begin,
                                  const std::function<void(const ScenarioRow&)>& show);

std::string scenario_line(const ScenarioRow& row);       ///< for a terminal
std::string scenarios_summary(const ScenarioRun& run);   ///< the counts
std::string scenarios_markdown(const ScenarioRun& run);  ///< the whole as a page

}  // namespace parity::cli
