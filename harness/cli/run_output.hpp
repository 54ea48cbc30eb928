#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "reports/record_log.hpp"

namespace parity::cli {

/// Makes the directory of --out (or of another option) and those above it.
Result<void> make_directory(const std::filesystem::path& directory, const char* option = "--out");
/// Writes junit.xml and summary.md into the directory and, of training runs, the plots that the summary
/// shows.
Result<void> write_summaries(const std::filesystem::path& directory, std::span<const Record> records,
                             const std::vector<std::string>& missing);

/// The files of `parity run --out DIR`: records.jsonl grows while the run goes on; write_summaries() is made
/// from it at the end, after failures and interrupts too.
class RunOutput {
 public:
  /// Makes the directory. A records.jsonl of an earlier run is an error unless `append`.
  static Result<RunOutput> open(const std::filesystem::path& directory, bool append);
  /// Of a run that was killed or interrupted; `earlier`: gets the records there. No run there is an error.
  static Result<RunOutput> reopen(const std::filesystem::path& directory, LoggedRecords& earlier);
  /// Says in the log what the run sets out to do; `recorded`: of that, what the log has already.
  Result<void> begin(const RunMark& mark, std::size_t recorded) {
    return log_.begin(mark, static_cast<std::int64_t>(recorded));
  }
  Result<void> append(const Record& record) { return log_.append(record); }
  /// Says in the log whether the run got to its end; writes the summaries over every record of it, and the
  /// page (with the trees of a probe.jsonl there).
  Result<void> finish(bool complete);
  const std::filesystem::path& directory() const { return directory_; }

 private:
  RunOutput(std::filesystem::path directory, RecordLog log)
      : directory_(std::move(directory)), log_(std::move(log)) {}
  std::filesystem::path directory_;
  RecordLog log_;
};

}  // namespace parity::cli
