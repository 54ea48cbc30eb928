#pragma once
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

/// JUnit XML for a CI system: one testsuite a device, one testcase a record. unsupported and untrusted are
/// skipped, with the reason; fail, suspect and drift are failures; crash and timeout are errors. What is
/// `missing` (LoggedRecords) is an error of a testsuite of its own. Characters that XML cannot hold are
/// replaced by U+FFFD.
std::string to_junit(std::span<const Record> records, const std::vector<std::string>& missing = {});

}  // namespace parity
