#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "harness/bisect/program_bisection.hpp"
#include "harness/bisect/trace_manifest.hpp"

namespace parity {

/// What is odd about one tensor of a trace.
struct TracePattern {
  std::size_t op = 0;
  std::string tensor, what;
};

/// A trace, looked through. `report.producer` is the first op that is to blame: by its references where the
/// manifest says what kind of op it is, else the first whose output is not finite while its inputs are (or
/// the first of all, where no inputs are named).
struct TraceReport {
  BisectReport report;
  std::vector<TracePattern> patterns;
  std::int64_t tensors = 0, judged = 0;  ///< tensors looked at; ops compared with their references
};

/// Goes through a folder of tensors in the order of its manifest, one op in memory at a time. Errors name the
/// op, the port and the file: an unknown kind, a port that is missing, a shape that does not fit, a file that
/// cannot be read.
Result<TraceReport> bisect_trace(const OpTable& ops, const std::filesystem::path& folder);

}  // namespace parity
