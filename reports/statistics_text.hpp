#pragma once
#include <string>

#include "harness/ladder/record.hpp"

namespace parity {

/// Every statistic of one output in plain lines: sizes of the error, similarity, ULP quantiles, contract,
/// replay.
std::string statistics_text(const OutputRecord& output);
/// What an output is held to, in words.
std::string contract_text(const Contract& contract);
/// How much of a sampled output was compared, and what its check would see.
std::string sampled_text(const SampledCheck& check);

}  // namespace parity
