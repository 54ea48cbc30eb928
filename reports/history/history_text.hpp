#pragma once
#include <span>
#include <string>

#include "reports/history/changes.hpp"

namespace parity {

/// A heading for each change of commit or driver, and below it a row for each figure and path that changed
/// with it: how many cases, and the one that changed most. `each_case`: a row a case.
std::string history_text(std::span<const HistoryRun> runs, std::span<const HistoryChange> changes,
                         bool each_case);

/// A change as a line of JSON, without a newline: whatever the text says, of one case.
std::string history_json(std::span<const HistoryRun> runs, const HistoryChange& change);

/// "2026-11-30: vulkan A device: commit abc -> def, driver 1.0 -> 2.0"; what did not change is left out.
std::string moment_text(const HistoryRun& before, const HistoryRun& after);

}  // namespace parity
