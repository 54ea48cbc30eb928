#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

/// Version of the file's form; a reader refuses another one.
inline constexpr int baseline_schema = 1;

/// What a baseline keeps of one judged result.
struct BaselineOutput {
  int call = 0, calls = 1;  ///< as in OutputRecord
  std::string op, path, port, tensor;
  std::uint64_t bits = 0;  ///< 0: not recorded
  std::int64_t elements = 0;
  double rms = 0, mean_signed = 0, max_bound_ratio = 0;
  /// Histogram of |err| in ULP as in ErrorStatistics, from its first bin that is not empty to the last.
  std::int64_t first_bin = 0;
  std::vector<std::int64_t> histogram;
};

/// One case on one path.
struct BaselineCase {
  std::string case_text, path;
  Verdict verdict = Verdict::pass;
  std::string reason;         ///< of anything but a pass
  bool reproducible = false;  ///< repeated runs had the same bits, in every case of the path
  std::string inputs;         ///< name:hash of every input; other inputs, other bits
  /// Least time on the device over the time of the fp64 reference that was evaluated in the same minute; 0:
  /// unknown.
  double time_ratio = 0;
  std::vector<BaselineOutput> outputs;
};

/// A change of the baseline that somebody meant.
struct Blessing {
  std::string reason, author, date;  ///< date: UTC, ISO 8601
  std::string commit;                ///< of the records that were blessed
  std::int64_t cases = 0;            ///< added, changed or removed
};

/// What a device is held to: one file, a line of JSON each for the device and its blessings (and how many
/// cases follow, so that a file that was cut is known), and for every case, sorted, so that a change reads
/// well as a diff.
struct Baseline {
  std::string backend, device, driver;
  std::vector<Blessing> blessings;
  std::vector<BaselineCase> cases;  ///< sorted by case and path, no two alike
};

/// What tells one judged result of a case from another: op, path, port, calls, call, tensor. Of results that
/// stand for many calls the worst is kept, which may be another one each time: their call and tensor say
/// nothing.
using ResultKey = std::tuple<std::string, std::string, std::string, int, int, std::string>;
ResultKey result_key(const BaselineOutput& output);

/// What a baseline keeps of a record.
BaselineCase baseline_case(const Record& record);
/// Of records that are taken together, in their order. A path that gave other bits in any case, from run to
/// run or from record to record of one driver and commit, is reproducible in none.
std::vector<BaselineCase> baseline_cases(std::span<const Record> records);
/// Error: records of one case and path that are of two devices, which may have one name. Shards of a run may
/// come from several.
Result<void> check_one_device(std::span<const Record> records);
/// A baseline of records of one device. Of several records of one case and path the last of the gravest
/// verdict counts. Error: no record, or records of several devices, drivers or commits.
Result<Baseline> make_baseline(std::span<const Record> records);

std::string to_text(const Baseline& baseline);
/// The inverse; `name` stands for the file in messages, which name line and field.
Result<Baseline> parse_baseline(std::string_view text, const std::string& name);
Result<Baseline> read_baseline(const std::filesystem::path& file);

}  // namespace parity
