#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/faulty_devices.hpp"
#include "harness/faults/plan.hpp"
#include "reports/fault_log.hpp"

namespace parity::cli {

/// A file of cases/faults/, kept inside the program.
struct CatalogueFile {
  std::string_view name, text;
};
std::span<const CatalogueFile> embedded_catalogue();

/// The options of `parity faults`.
struct FaultRequest {
  std::vector<std::string> filter, devices, from;
  std::string out;
  faults::PlanOptions plan;
  bool withhold_order = false, json = false, list = false, append = false;
  int repeats = 3;
  std::int64_t healthy = 0;
  double timeout_seconds = 60;
};

/// Every fault of the catalogue that fits the filter (words on "name kind what case").
Result<std::vector<faults::CatalogueFault>> read_catalogue(const std::vector<std::string>& filter);

/// Where lines of the log go as they come, and how far things are.
struct FaultProgress {
  std::function<Result<void>(const std::string& line)> keep;
  std::function<void(std::size_t done, std::size_t of, const std::string& what)> begin;
  std::function<bool()> stop;
};

/// Every trial of the catalogue on one device, then healthy cases. An error is the harness's own (a case of
/// the catalogue that cannot be read, a log that cannot be written); what a device does is in the result.
Result<FaultRun> run_faults(const Context& context, const FaultRequest& request,
                            std::span<const faults::CatalogueFault> catalogue, Device& device,
                            FaultyDevices& faulty, const FaultProgress& progress);

}  // namespace parity::cli
