#pragma once
#include <string>

#include "harness/ladder/record.hpp"

namespace parity {

/// Every statistic of one output in plain lines: sizes of the error, similarity, ULP quantiles, contract,
/// replay.
std::string statistics_text(const OutputRecord& output);

}  // namespace parity
