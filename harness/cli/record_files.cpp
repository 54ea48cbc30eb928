#include "harness/cli/record_files.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <set>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/output.hpp"

namespace parity::cli {

Result<RecordFiles> read_record_files(const std::vector<std::string>& files) {
  RecordFiles all;
  for (const std::string& file : files) {
    auto logged = read_record_log(file);
    if (!logged) return tl::unexpected(logged.error());
    if (!logged->note.empty()) complain(logged->note);
    all.sources.push_back({file, all.records.size(), logged->records.size(), logged->missing});
    for (Record& record : logged->records) all.records.push_back(std::move(record));
    all.missing.insert(all.missing.end(), logged->missing.begin(), logged->missing.end());
  }
  return all;
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
