#pragma once
#include <string>
#include <vector>

#include "reports/record_log.hpp"

namespace parity::cli {

/// A log and where it was read from.
struct NamedLog {
  std::string name;
  LoggedRecords logged;
};

/// Whether logs may be taken together: one commit, one suite, every shard of a run once. The error says what
/// stands against it.
Result<void> check_merge(const std::vector<NamedLog>& logs);
/// Shards of a run that no log has, a sentence a run.
std::vector<std::string> missing_shards(const std::vector<NamedLog>& logs);

/// The same for logs that hold shards of one run; empty for a log of anything else.
std::string shared_run(const NamedLog& log);

}  // namespace parity::cli
