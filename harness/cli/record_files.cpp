#include "harness/cli/record_files.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/output.hpp"

namespace parity::cli {

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
  // Logs of one run stand beside each other, where the first of them stood.
  std::vector<std::string> runs;
  for (const NamedLog& log : logs) {
    std::string run = shared_run(log);
    if (run.empty()) run = fmt::format("alone: {}", runs.size());
    runs.push_back(std::move(run));
  }
  for (std::size_t first = 0; first < logs.size(); ++first) {
    if (std::find(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(first), runs[first]) !=
        runs.begin() + static_cast<std::ptrdiff_t>(first))
      continue;
    RecordFiles::Source source{logs[first].name, all.records.size(), 0, {}};
    std::size_t files = 0;
    for (std::size_t i = first; i < logs.size(); ++i) {
      if (runs[i] != runs[first]) continue;
      LoggedRecords& logged = logs[i].logged;
      std::ranges::move(logged.records, std::back_inserter(all.records));
      std::ranges::copy(logged.missing, std::back_inserter(source.missing));
      ++files;
    }
    if (files > 1) source.name += fmt::format(" and {} more of its shards", files - 1);
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
