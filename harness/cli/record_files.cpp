#include "harness/cli/record_files.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/output.hpp"

namespace parity::cli {
namespace {

/// The logs of one run together, where the first of them stood; a log that shares no run by itself.
std::vector<std::vector<NamedLog>> by_run(std::vector<NamedLog> logs) {
  std::vector<std::vector<NamedLog>> runs;
  for (NamedLog& log : logs) {
    const std::string shared = shared_run(log);
    const auto known = std::ranges::find_if(runs, [&](const std::vector<NamedLog>& run) {
      return !shared.empty() && shared_run(run.front()) == shared;
    });
    if (known == runs.end())
      runs.emplace_back().push_back(std::move(log));
    else
      known->push_back(std::move(log));
  }
  return runs;
}

}  // namespace

Result<std::vector<NamedLog>> read_logs(const std::vector<std::string>& files) {
  std::vector<NamedLog> logs;
  for (const std::string& file : files) {
    auto logged = read_record_log(file);
    if (!logged) return tl::unexpected(logged.error());
    if (!logged->note.empty()) complain(logged->note);
    logs.push_back({file, *std::move(logged)});
  }
  return logs;
}

RecordFiles taken_together(std::vector<NamedLog> logs) {
  RecordFiles all;
  for (std::string& sentence : missing_shards(logs)) all.missing.push_back(std::move(sentence));
  for (std::vector<NamedLog>& run : by_run(std::move(logs))) {
    RecordFiles::Source source{run.front().name, all.records.size(), 0, {}};
    if (run.size() > 1) source.name += fmt::format(" and {} more of its shards", run.size() - 1);
    for (NamedLog& log : run) {
      std::ranges::move(log.logged.records, std::back_inserter(all.records));
      std::ranges::copy(log.logged.missing, std::back_inserter(source.missing));
    }
    source.count = all.records.size() - source.first;
    std::ranges::copy(source.missing, std::back_inserter(all.missing));
    all.sources.push_back(std::move(source));
  }
  return all;
}

Result<RecordFiles> read_record_files(const std::vector<std::string>& files) {
  auto logs = read_logs(files);
  if (!logs) return tl::unexpected(logs.error());
  return taken_together(*std::move(logs));
}

Result<std::vector<Record>> records_of_device(std::vector<Record> records, const std::string& choice) {
  if (choice.empty() || records.empty()) return records;
  std::set<std::string> here;
  for (const Record& record : records)
    here.insert(fmt::format("{} ({})", record.device.id, record.device.name));
  std::erase_if(records, [&](const Record& record) { return !is_chosen(record.device, choice); });
  if (records.empty())
    return bad_input(fmt::format("no record is of the device '{}'; there are records of {}", choice,
                                 fmt::join(here, ", ")));
  return records;
}

}  // namespace parity::cli
