#include "harness/cli/run_shard.hpp"

#include <map>
#include <tuple>

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

}  // namespace

Result<std::vector<std::size_t>> shards_of(const PlanOutline& plan, std::size_t shards,
                                           const std::string& times) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, double> known;
  if (!times.empty()) {
    const auto logged = read_record_log(times);
    if (!logged) return tl::unexpected(logged.error());
    for (const Record& record : logged->records)
      if (const double seconds = time_of(record); seconds > 0)
        known[{record.device.id, record.path, record.case_text}] = seconds;
  }
  std::vector<CostHint> hints;
  for (const PlanItem& item : plan.items) {
    const DeviceInfo& device = plan.device_of(item);
    const auto found = known.find({device.id, item.path, item.text});
    hints.push_back({found == known.end() ? std::optional<double>() : found->second,
                     device.id + " " + item.stage, item.flops});
  }
  return share_out(estimate_costs(hints), shards);
}

}  // namespace parity::cli
