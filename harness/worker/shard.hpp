#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace parity {

/// One of several runs that share a plan.
struct Shard {
  std::size_t number = 1, of = 1;  ///< number from 1 to `of`
  std::string source;              ///< where it was read, for people
  std::string text() const;        ///< "2/4"
};

/// The value of an environment variable; nullptr where it is not set.
using Environment = std::function<const char*(const char* name)>;

/// "2/4", or "auto": what GoogleTest, Slurm job arrays or Kubernetes indexed jobs say in the environment.
/// "auto/4" gives the total to those that know the index alone (Kubernetes). An `auto` that finds nothing, or
/// two that disagree, is an error.
Result<Shard> parse_shard(const std::string& text, const Environment& environment);

/// The devices that CTest's resource allocation gave to this test (CTEST_RESOURCE_GROUP_COUNT and what goes
/// with it), where resources are called as backends are: "cuda" with id 1 is "cuda:1". None is an error.
Result<std::vector<std::string>> ctest_devices(const Environment& environment);

/// Which shard (from 1) each item belongs to: the costliest first, each to the shard that has least so far.
/// The same on every machine for the same costs.
std::vector<std::size_t> share_out(std::span<const double> costs, std::size_t shards);

/// What is known of an item's time beforehand.
struct CostHint {
  std::optional<double> seconds;  ///< of an earlier run
  std::string kind;               ///< items of one kind take similar times for their operations
  double flops = 0;
};
/// Seconds an item; those not known from an earlier run are estimated from the known ones of their kind, else
/// from their operations.
std::vector<double> estimate_costs(std::span<const CostHint> hints);

}  // namespace parity
