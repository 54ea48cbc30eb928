#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/gate/drift.hpp"
#include "reports/history/history.hpp"

namespace parity {

/// What may be asked of a history.
enum class Statistic {
  verdict,
  bits,
  rms_error,
  mean_error,
  max_error,
  max_err_over_bound,
  relative_l2,
  max_ulp,
  seconds,  ///< least on the device
};
std::string_view name_of(Statistic statistic);
std::optional<Statistic> parse_statistic(std::string_view name);
std::vector<std::string> statistic_names();

/// The figure of a result (of a record: verdict, seconds); NaN where it has none. Of a verdict 1 for a
/// failure and 0 for anything else.
double value_of(Statistic statistic, const HistoryPoint& point, const HistoryOutput* output);

/// Something that is not as it was.
struct HistoryChange {
  enum class Kind {
    verdict,
    inputs,  ///< others: what follows cannot be compared with what was
    bits,    ///< other bits of the same inputs, where repeated runs had the same
    errors,  ///< by find_drift()
    time,    ///< of a path, by the median of its cases
  };
  Kind kind = Kind::verdict;
  std::string case_text, path, tensor;  ///< case_text, tensor: empty for times; tensor: for a verdict
  std::size_t before = 0, after = 0;    ///< places in the runs: the last as it was, the first as it is
  std::string figure;                   ///< what changed: "verdict", "rms_error"
  std::string was, is;                  ///< its values: since the last change, and now
  std::string why;                      ///< why that is no chance; of a verdict its reason
  double size = 1;                      ///< how large: a factor, at least 1; infinite where there is none
};
std::string_view name_of(HistoryChange::Kind kind);

struct ChangeOptions {
  std::optional<Statistic> statistic;  ///< absent: verdict, bits and rms_error
  std::string output;                  ///< pattern for tensor or port; empty: all
  DriftLimits limits;
  double slower = 1.5;  ///< a path whose time changed by less than this factor did not
};

/// Finds change points in series that are handed in one by one. A result is compared with what it was since
/// its last change, not with the run before: errors that grow slowly are found when they have grown enough.
class ChangeFinder {
 public:
  ChangeFinder(std::span<const HistoryRun> runs, ChangeOptions options)
      : runs_(runs), options_(std::move(options)) {}
  void add(const HistorySeries& series);
  /// By run, then kind, then size, the largest first.
  std::vector<HistoryChange> changes();
  std::int64_t series() const { return series_; }
  /// Cases that have an output that was asked for.
  std::int64_t with_output() const { return with_output_; }

 private:
  bool asked(HistoryChange::Kind kind) const;
  void compare_outputs(const HistorySeries& series);
  void note_times(const HistorySeries& series);
  void compare_times(std::vector<HistoryChange>& changes) const;

  std::span<const HistoryRun> runs_;
  ChangeOptions options_;
  std::vector<HistoryChange> changes_;
  std::int64_t series_ = 0, with_output_ = 0;
  /// By backend, device and path, then by run: the time ratio of each case.
  std::map<std::vector<std::string>, std::map<std::size_t, std::map<std::string, double>>> times_;
};

/// Whether a result is asked for by name: its tensor, its port or, as in the records, either.
bool fits_output(const HistoryOutput& output, const std::string& pattern);

}  // namespace parity
