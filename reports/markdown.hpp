#pragma once
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

/// A summary in Markdown for people and pull requests: the outcome first, then a table a device, then each
/// failure with its repro line (the first `failures` of them), then what was unsupported and why. With
/// something `missing` (LoggedRecords) the outcome is never "passed".
std::string to_markdown(std::span<const Record> records, const std::vector<std::string>& missing = {},
                        std::size_t failures = 20);

}  // namespace parity
