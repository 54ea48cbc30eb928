#pragma once
#include <string>
#include <vector>

#include "harness/cli/merge.hpp"

namespace parity::cli {

/// Records of several files together.
struct RecordFiles {
  /// One file, or the shards of one run, as it stands among all records.
  struct Source {
    std::string name;
    std::size_t first = 0, count = 0;
    std::vector<std::string> missing;
  };
  std::vector<Record> records;
  std::vector<Source> sources;
  std::vector<std::string> missing;  ///< of all files: LoggedRecords::missing, and shards that no file has
};

/// Reads the files; torn ends are complained of. Error: a file that cannot be read.
Result<std::vector<NamedLog>> read_logs(const std::vector<std::string>& files);
RecordFiles taken_together(std::vector<NamedLog> logs);

/// Both.
Result<RecordFiles> read_record_files(const std::vector<std::string>& files);

/// The records of one device, chosen as everywhere by id, backend or a part of its name; empty: all. Error:
/// there are records, and none of it; the message lists the devices there are.
Result<std::vector<Record>> records_of_device(std::vector<Record> records, const std::string& choice);

}  // namespace parity::cli
