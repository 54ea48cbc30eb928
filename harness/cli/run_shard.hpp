#pragma once
#include <vector>

#include "harness/cli/plan_outline.hpp"
#include "harness/worker/shard.hpp"

namespace parity::cli {

/// The shard of every item of a plan, from 1. `times`: records of an earlier run, whose times balance the
/// shards; empty: operations do.
Result<std::vector<std::size_t>> shards_of(const PlanOutline& plan, std::size_t shards,
                                           const std::string& times);

/// A text that is the same for equal shards (RunMark::division).
std::string division_of(const std::vector<std::size_t>& shards);

}  // namespace parity::cli
