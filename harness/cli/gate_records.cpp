#include "harness/cli/gate_records.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <set>

#include "harness/cli/output.hpp"

namespace parity::cli {

Result<LoggedRecords> gate_records(const std::vector<std::string>& files, const std::string& device) {
  LoggedRecords all;
  std::set<std::string> here;
  for (const std::string& file : files) {
    auto logged = read_record_log(file);
    if (!logged) return tl::unexpected(logged.error());
    if (!logged->note.empty()) complain(logged->note);
    all.missing.insert(all.missing.end(), logged->missing.begin(), logged->missing.end());
    for (Record& record : logged->records) {
      here.insert(record.device.id);
      if (device.empty() || record.device.id == device || record.device.backend == device)
        all.records.push_back(std::move(record));
    }
  }
  if (all.records.empty() && !here.empty())
    return bad_input(fmt::format("no record is of the device '{}'; there are records of {}", device,
                                 fmt::join(here, ", ")));
  return all;
}

}  // namespace parity::cli
