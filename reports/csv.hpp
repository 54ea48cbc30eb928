#pragma once
#include <span>
#include <string>

#include "harness/ladder/record.hpp"

namespace parity {

/// A table for spreadsheets (RFC 4180, UTF-8): a line for each output of each record, and one for a record
/// without outputs. Numbers have nine significant digits; figures of nothing are empty.
std::string to_csv(std::span<const Record> records);

}  // namespace parity
