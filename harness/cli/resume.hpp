#pragma once
#include <map>
#include <vector>

#include "harness/cli/plan_outline.hpp"
#include "harness/cli/run_engine.hpp"
#include "reports/record_log.hpp"

namespace parity::cli {

/// What an earlier run recorded of a plan.
struct Resumption {
  std::map<std::size_t, Record> recorded;  ///< by item
};

/// The last run of the log, when `mark` is of a run that sets out to record the same; otherwise an error that
/// names every difference. Takes the records it finds out of `logged`.
Result<Resumption> resume(LoggedRecords& logged, const RunMark& mark, const PlanOutline& plan,
                          const std::string& directory);

}  // namespace parity::cli
