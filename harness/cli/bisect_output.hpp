#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/bisect/trace_bisection.hpp"

namespace parity::cli {

/// What was bisected, for the texts below.
struct Bisected {
  std::string case_text;
  const DeviceInfo& device;
  std::string path;
};

/// For people: what is to blame, why, and what it cost to find out.
std::string bisect_text(const BisectReport& report, const Bisected& what);
/// The same as one JSON object.
std::string bisect_json(const BisectReport& report, const Bisected& what);
/// The same for a folder of tensors.
std::string trace_text(const TraceReport& report, const std::string& folder);
std::string trace_json(const TraceReport& report, const std::string& folder);
enum class GrowthAxis : std::uint8_t { steps, timesteps, ops };
/// max |x| along the steps, the timesteps of the last step or the ops of a trace, a line for each kind of
/// tensor that comes nearest to its format's limit, as SVG; empty where there is one place only.
std::string growth_svg(const BisectReport& report, const std::string& subtitle, GrowthAxis axis);

// Parts that the output of a comparison shares (against_output.hpp).
/// The call that is to blame, a line each: what, where, why, its inputs.
std::string producer_text(const Producer& producer);
std::string producer_json(const Producer& producer);
/// "2 runs, 2.48 MB up, ...": what a search cost; `runs`: what a run is called.
std::string cost_text(const BisectCost& cost, const char* runs = "runs");
/// The same as fields of a JSON object.
void add_cost(nlohmann::ordered_json& object, const BisectCost& cost);

}  // namespace parity::cli
