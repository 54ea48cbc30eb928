#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"
#include "reports/run_marks.hpp"

namespace parity {

/// One run in a log, with all that resumed it.
struct LoggedRun {
  RunMark mark;
  std::vector<std::size_t> records;  ///< places in LoggedRecords::records
  bool complete = false;             ///< it got to its end
};

struct LoggedRecords {
  std::vector<Record> records;
  std::vector<LoggedRun> runs;
  std::string note;  ///< not empty: the last line was torn or empty, and left out
  /// What a run set out to record and did not, a sentence a run. Empty: nothing is known to be missing. A run
  /// misses nothing once a later run of the same plan has recorded all of it.
  std::vector<std::string> missing;
};

/// A file of records, one JSON line each, that is safe against a kill at any moment: each record is appended
/// by one write(2) and reaches the disk before append() returns. The facts of a device (a hundred lines that
/// do not change) stand in its first record of the log only; read_record_log() gives them back to the others.
/// Before the records of a run stands what it set out to do, behind them how it ended (run_marks.hpp); a log
/// may hold several runs, and records without either.
class RecordLog {
 public:
  enum class Mode {
    create,  ///< an existing file that is not empty is an error
    append,  ///< continue; a torn last line of a killed run is cut off first
  };
  /// Opens and locks the file: a second writer gets an error instead of a mixture. `earlier`: gets what the
  /// file holds; its note says what was cut off.
  static Result<RecordLog> open(const std::filesystem::path& file, Mode mode,
                                LoggedRecords* earlier = nullptr);

  RecordLog(RecordLog&& other) noexcept;
  RecordLog& operator=(RecordLog&& other) noexcept;
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;
  ~RecordLog();

  /// Appends one record. On an error (disk full, I/O error) the file is cut back to what it was before, so
  /// that everything recorded earlier stays readable.
  Result<void> append(const Record& record);
  /// The marks around the records of a run; errors as for append(). `recorded`: of its records, those that
  /// stand in the log already.
  Result<void> begin(const RunMark& mark, std::int64_t recorded = 0);
  Result<void> end(bool complete);
  const std::filesystem::path& file() const { return file_; }

 private:
  RecordLog(std::filesystem::path file, int descriptor) : file_(std::move(file)), descriptor_(descriptor) {}

  /// One write and one flush; cut back on an error.
  Result<void> write_line(std::string line);

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::int64_t recorded_ = 0;        ///< since begin()
  std::set<std::string> described_;  ///< devices whose facts this log has
};

/// Reads a log. One torn line, the last, is what a killed run leaves: it is left out and said in `note`, and
/// is `missing`. Any other line that cannot be read is an error naming file, line and field.
Result<LoggedRecords> read_record_log(const std::filesystem::path& file);
/// The same from memory; `name` stands for the file in messages.
Result<LoggedRecords> parse_record_log(std::string_view text, const std::string& name);

}  // namespace parity
