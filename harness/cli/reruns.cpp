#include "harness/cli/reruns.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace parity::cli {
namespace {

Rerun rerun_of(const Record& record) {
  Rerun rerun{record.verdict, record.reason, 0, record.case_seconds};
  for (const OutputRecord& output : record.outputs)
    rerun.max_bound_ratio = std::max(rerun.max_bound_ratio, output.judgement.statistics.max_bound_ratio);
  return rerun;
}

/// The verdict stays that of the failure.
Record settled(Record record) {
  if (is_flaky(record))
    record.reason =
        fmt::format("flaky, for run {} of it passed; the first: {}", record.reruns.size() + 1, record.reason);
  return record;
}

}  // namespace

std::optional<Record> Reruns::take(std::size_t item, Record record) {
  const auto first = first_.find(item);
  if (first == first_.end()) {
    if (most_ == 0 || !is_failure(record.verdict)) return record;
    first_.emplace(item, std::move(record));
    return std::nullopt;
  }
  std::vector<Rerun>& reruns = first->second.reruns;
  reruns.push_back(rerun_of(record));
  if (is_failure(record.verdict) && reruns.size() < static_cast<std::size_t>(most_)) return std::nullopt;
  return settled(std::move(first_.extract(first).mapped()));
}

std::map<std::size_t, Record> Reruns::rest() {
  std::map<std::size_t, Record> records;
  records.swap(first_);
  for (auto& [item, record] : records) record = settled(std::move(record));
  return records;
}

}  // namespace parity::cli
