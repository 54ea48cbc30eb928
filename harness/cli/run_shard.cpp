#include "harness/cli/run_shard.hpp"

#include <fmt/core.h>

#include <map>
#include <tuple>

#include "harness/base/fnv1a.hpp"
#include "harness/cli/output.hpp"
#include "reports/record_log.hpp"

namespace parity::cli {
namespace {

/// What a record of before version 0.2 has of its time.
double time_of(const Record& record) {
  if (record.case_seconds > 0) return record.case_seconds;
  double seconds = record.judge_seconds;
  for (const double run : record.host_seconds) seconds += run;
  return seconds;
}

/// A text that is the same for equal shards.
std::string division_of(const std::vector<std::size_t>& shards) {
  Fnv1a hash;
  for (const std::size_t shard : shards) hash.add(std::uint64_t{shard});
  return fmt::format("{:016x}", hash.value());
}

/// The shard of every item of a plan, from 1. Without records (`times`) operations balance them.
Result<std::vector<std::size_t>> shards_of(const PlanOutline& plan, std::size_t shards,
                                           const std::string& times) {
  // By the name: an equal device of another number, as an engine may hand it to another shard, takes as long.
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, double> known;
  if (!times.empty()) {
    const auto logged = read_record_log(times);
    if (!logged) return tl::unexpected(logged.error());
    for (const Record& record : logged->records)
      if (const double seconds = time_of(record); seconds > 0)
        known[{record.device.backend, record.device.name, record.path, record.case_text}] = seconds;
  }
  std::vector<CostHint> hints;
  bool any = false;
  for (const PlanItem& item : plan.items) {
    const DeviceInfo& device = plan.device_of(item);
    const auto found = known.find({device.backend, device.name, item.path, item.text});
    any = any || found != known.end();
    hints.push_back({found == known.end() ? std::optional<double>() : found->second,
                     device.backend + " " + device.name + " " + item.stage, item.flops});
  }
  if (!times.empty() && !any)
    complain(fmt::format("--times {}: holds the time of no case of this run; operations balance the shards",
                         times));
  return share_out(estimate_costs(hints), shards);
}

}  // namespace

Result<Assigned> assign_items(const PlanOutline& plan, const std::optional<Shard>& shard,
                              const std::string& times) {
  Assigned assigned{
      shard, {}, std::vector<ItemState>(plan.items.size(), ItemState::to_run), plan.items.size()};
  if (!shard) return assigned;
  const auto of = shards_of(plan, shard->of, times);
  if (!of) return tl::unexpected(of.error());
  assigned.division = division_of(*of);
  assigned.items = 0;
  for (std::size_t item = 0; item < of->size(); ++item) {
    // Those of others are taken to pass, as those that do not are few.
    if ((*of)[item] == shard->number)
      ++assigned.items;
    else
      assigned.states[item] = ItemState::passed;
  }
  return assigned;
}

}  // namespace parity::cli
