#pragma once
// What the tests of records that `parity run` leaves share.
#include <set>

#include "harness/cli/cli_testing.hpp"
#include "reports/record_json.hpp"
#include "reports/record_log.hpp"

namespace parity {

inline std::vector<Record> records_in(const std::string& directory) {
  const auto logged = read_record_log(directory + "/records.jsonl");
  EXPECT_TRUE(logged) << logged.error().message;
  return logged ? logged->records : std::vector<Record>{};
}

/// A record without what differs from run to run: times.
inline std::string timeless(Record record) {
  record.device_seconds.clear();
  record.host_seconds.clear();
  record.judge_seconds = record.case_seconds = record.reference_seconds = 0;
  record.call_times.clear();
  record.provenance.started.clear();
  return to_json_line(record);
}

inline std::multiset<std::string> timeless(const std::vector<Record>& records) {
  std::multiset<std::string> lines;
  for (const Record& record : records) lines.insert(timeless(record));
  return lines;
}

/// Twelve quick cases on the CPU.
inline Words twelve() {
  return {"run",
          "--device",
          "cpu",
          "--path",
          "sequential_f32",
          "--no-order-effects",
          "--case",
          "gemm m={1,2,3,4} n={3,4,5} k=30"};
}

inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace parity
