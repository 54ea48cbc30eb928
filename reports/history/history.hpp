#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reports/gate/baseline.hpp"

namespace parity {

/// Version of the tables; a file of another one is refused.
inline constexpr int history_schema = 1;

/// What the records of one run on one device share.
struct HistoryRun {
  std::string id, backend, device, driver;  ///< id: "vulkan:0"
  std::string commit, version, flags, started;
};

/// What is kept of one judged result.
struct HistoryOutput {
  BaselineOutput result;
  double max_abs = 0, max_ulp = 0, relative_l2 = 0;
};

/// One record.
struct HistoryPoint {
  std::size_t run = 0;  ///< place in History::runs()
  Verdict verdict = Verdict::pass;
  std::string reason;
  bool reproducible = false;  ///< repeated runs had the same bits
  std::string inputs;         ///< name:hash of every input
  double seconds = 0;         ///< least on the device; 0: unknown
  double time_ratio = 0;      ///< as in BaselineCase
  std::vector<HistoryOutput> outputs;
};

/// One case on one path of one device, in the order of the runs' dates.
struct HistorySeries {
  std::string case_text, path;
  std::vector<HistoryPoint> points;
};

/// What of a history is asked for; a pattern (`*`, `?`) is matched whole, an empty one fits everything.
struct HistoryPart {
  std::string case_text, path;
  std::function<bool(const HistoryRun&)> run;  ///< empty: every run
};

/// How many records an import found new.
struct HistoryAddition {
  std::int64_t fresh = 0, known = 0;
};

/// Whether this build can keep histories; otherwise open() says what it lacks.
bool history_is_built_in();

/// Records of many runs in an SQLite file: of each what a baseline keeps, and some more figures.
class History {
 public:
  enum class Mode {
    ask,  ///< the file has to be there
    add,  ///< it is made where it is not
  };
  /// Error: a file of another program, of another version, or damaged.
  static Result<History> open(const std::filesystem::path& file, Mode mode);
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;
  ~History();

  /// Takes records in, all of them or, on an error or a kill, none. One that is there already is left out: a
  /// record is the same when run, case, path, verdict, times and bits are.
  Result<HistoryAddition> add(std::span<const Record> records);

  /// By date.
  const std::vector<HistoryRun>& runs() const;
  /// Judged results of all records.
  Result<std::int64_t> results() const;
  /// Hands out the series one by one, by case, path and device.
  Result<void> each_series(const HistoryPart& part,
                           const std::function<void(const HistorySeries&)>& take) const;

 private:
  struct Store;
  explicit History(std::unique_ptr<Store> store);
  std::unique_ptr<Store> store_;
};

}  // namespace parity
