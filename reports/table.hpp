#pragma once
#include <string>

#include "reports/summary.hpp"

namespace parity {

struct TableOptions {
  bool colour = false;                    ///< ANSI colours on the verdicts
  std::vector<std::string> missing = {};  ///< of LoggedRecords: the outcome is then never "passed"
};

/// The summary as an aligned table for a terminal: per device a heading, per rung and path a row; then what
/// was unsupported and why, and one closing line.
std::string to_table(const RunSummary& summary, const TableOptions& options = {});

}  // namespace parity
