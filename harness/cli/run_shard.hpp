#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/plan_outline.hpp"
#include "harness/cli/run_engine.hpp"
#include "harness/worker/shard.hpp"

namespace parity::cli {

/// What of a plan a run is to do.
struct Assigned {
  std::optional<Shard> shard;
  std::string division;  ///< RunMark::division
  std::vector<ItemState> states;
  std::size_t items = 0;  ///< how many are to be run
};

/// What a shard is to do of a plan; without one all of it. `times`: records of an earlier run, whose times
/// balance the shards; empty: operations do.
Result<Assigned> assign_items(const PlanOutline& plan, const std::optional<Shard>& shard,
                              const std::string& times);

}  // namespace parity::cli
