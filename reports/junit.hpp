#pragma once
#include <span>
#include <string>

#include "harness/ladder/record.hpp"

namespace parity {

/// JUnit XML for a CI system: one testsuite a device, one testcase a record. unsupported is skipped, with its
/// reason; fail, suspect, drift and untrusted are failures; crash and timeout are errors. Characters that XML
/// cannot hold are replaced by U+FFFD.
std::string to_junit(std::span<const Record> records);

}  // namespace parity
