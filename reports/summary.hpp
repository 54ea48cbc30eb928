#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

/// All records of one path on one rung of one device, taken together: a row of the table. Bounds, replay and
/// verdicts are over all cases. Sizes of errors mean little when fills of 1e-40 and 1e38 are mixed: they are
/// over the cases with a plain fill (normal, uniform), or over all where there is none. So is the spread over
/// orders, whose deviation is left at 0 without a plain fill.
struct PathSummary {
  int rung = 0;
  std::string stage, path;
  std::map<Verdict, std::int64_t> verdicts;
  Verdict worst = Verdict::pass;
  std::int64_t cases = 0;
  bool plain_fills = false;          ///< the sizes of errors are over plain fills only
  std::int64_t elements = 0;         ///< compared with the reference
  std::int64_t sampled = 0;          ///< cases judged without a full reference
  double max_bound_ratio = 0;        ///< worst error over its bound
  double max_abs = 0, mean_abs = 0;  ///< error; the mean is over elements
  double cosine = 1;                 ///< lowest
  std::int64_t replay_compared = 0, replay_equal = 0;
  double order_deviation = 0;           ///< largest spread over orders, in predicted standard deviations
  std::int64_t order_unequal = 0;       ///< order experiments on the device that changed bits
  std::int64_t order_experiments = 0;   ///< 0: not measured
  std::int64_t run_to_run_unequal = 0;  ///< cases whose repeated runs differ
  double device_seconds = 0;            ///< sum of the medians
  // Drift: results of composite cases end to end, nothing taken from the device on the way.
  std::int64_t drift_results = 0;           ///< whose size of error is in drift_error; 0: none
  double drift_error = 0;                   ///< largest |got - want| / |want| of a result, 2-norms
  std::optional<double> drift_bound_ratio;  ///< worst error over its end-to-end bound; absent: none derived
};

struct DeviceSummary {
  DeviceInfo device;
  std::vector<PathSummary> paths;  ///< by rung, then in order of appearance
};

/// Why something was not run, and how often.
struct UnsupportedGroup {
  std::string reason;
  std::vector<std::string> where;  ///< "vulkan:0 gemm coopmat_f16_f32 (12 cases)"
};

struct RunSummary {
  std::vector<DeviceSummary> devices;
  std::vector<UnsupportedGroup> unsupported;
  std::map<Verdict, std::int64_t> verdicts;
  std::int64_t records = 0;
  std::int64_t flaky = 0;  ///< failures that passed when they were run again
  std::int64_t empty = 0;  ///< passes of which no element was compared: every result has none
  std::int64_t count(Verdict verdict) const;
  /// Verdicts that say a contract does not hold: fail, suspect, crash, timeout, drift.
  std::int64_t failed() const;
  /// Records that proved something, either way: everything but unsupported, untrusted and empty.
  std::int64_t judged() const;
};

enum class Rows {
  per_path,
  per_case,  ///< the stage is the case's text
};
RunSummary summarise(std::span<const Record> records, Rows rows = Rows::per_path);
/// A pass by default: every result is without elements, so that none could have been wrong.
bool is_empty_pass(const Record& record);

/// Why nothing was judged, when only results without elements were; empty otherwise.
std::string why_nothing_judged(const RunSummary& summary);

/// " (2 of the failures flaky)"; empty without any.
std::string flaky_text(const RunSummary& summary);

/// "12 pass, 1 fail, 3 unsupported" in a fixed order, zeros left out; "no records" when empty.
std::string verdict_counts(const std::map<Verdict, std::int64_t>& verdicts);

// Short forms of numbers, for people.
std::string short_number(double value);  ///< three significant digits; 0 is "0"
std::string brief_number(double value);  ///< two
std::string bound_text(double ratio);    ///< of an error over its bound: "0.634", "<0.001"
std::string cosine_text(double cosine);  ///< "1", "1-2.1e-08": the digits that matter
std::string order_text(
    const PathSummary& path);  ///< "same bits", "1.1 sigma", "bits differ", "runs differ", "-"
/// End-to-end error over its bound, and relative: {"0.12", "2.1e-07"}; {"-", "-"} where nothing is composite.
std::pair<std::string, std::string> drift_texts(const PathSummary& path);
std::string replay_text(std::int64_t equal, std::int64_t compared);  ///< "equal", "99.98%", "-"

}  // namespace parity
