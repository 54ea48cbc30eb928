#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace parity {

/// What a run sets out to do: the first line of its records, so that a reader knows what is missing when the
/// run did not get to its end.
struct RunMark {
  std::int64_t cases = 0;           ///< cases on paths: records that a whole run leaves
  std::string suite, filter, path;  ///< suite: empty for --case and --input; filter, path: empty for all
  std::string plan;                 ///< the same for runs of the same cases on the same paths and devices
  std::string commit, version, started;   ///< of the program; started: UTC, ISO 8601
  std::string settings = {};              ///< options that records depend on beside the plan: "--repeats 3"
  std::vector<std::string> devices = {};  ///< "vulkan:0 NVIDIA H200, driver 580.95"
  /// It goes on with the last run of the same plan and shard in this log: what is recorded stays.
  bool resumes = false;
  /// Number, from 1, and total where the plan is shared out among several runs; 0: it is not. `cases` counts
  /// this one's.
  std::int64_t shard = 0, shards = 0;
  std::string division = {};  ///< the same for shards that share the plan out alike; empty in older logs
};

/// The same for marks of runs that record the same cases: plan, devices and shard; empty where the plan is
/// not known.
std::string identity_of(const RunMark& mark);

/// How a run ended: the last line of its records. A killed run leaves none.
struct EndMark {
  bool complete = false;  ///< false: interrupted, or the records could not be written
  std::int64_t recorded = 0;
};

/// The line of JSON: {"plan": ...} and {"end": ...}.
std::string to_json_line(const RunMark& mark);
std::string to_json_line(const EndMark& mark);

/// Whether a line of a log is one of the marks rather than a record.
bool is_run_mark(std::string_view line);
bool is_end_mark(std::string_view line);
/// The inverses; the error names the field.
Result<RunMark> parse_run_mark(std::string_view line);
Result<EndMark> parse_end_mark(std::string_view line);

}  // namespace parity
