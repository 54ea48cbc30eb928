#pragma once
#include <string>
#include <vector>

#include "reports/record_log.hpp"

namespace parity::cli {

/// The records of the files, of one device where `device` (an id or a backend; empty: all) says which; torn
/// ends are complained of. Error: a file that cannot be read, a device that is in none.
Result<LoggedRecords> gate_records(const std::vector<std::string>& files, const std::string& device);

}  // namespace parity::cli
