#include "reports/gate/gate.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace parity {
namespace {

using Kind = GateFinding::Kind;
using Place = std::pair<std::string, std::string>;  ///< case and path

bool not_judged(Verdict verdict) {
  return verdict == Verdict::unsupported || verdict == Verdict::untrusted;
}

/// Whether repeated runs of a record had other bits.
bool vary(const Record* record) {
  return record->order.run_to_run && !record->order.run_to_run->bit_equal;
}

/// One gate being run.
class Gate {
 public:
  Gate(const Baseline& baseline, const GateOptions& options, GateReport& report)
      : baseline_(baseline), options_(options), report_(report) {}

  void run(std::span<const Record> records) {
    std::map<Place, std::vector<const Record*>> now;
    std::set<std::string> paths;
    for (const Record& record : records) {
      now[{record.case_text, record.path}].push_back(&record);
      paths.insert(record.path);
    }
    std::size_t results = 1;
    for (const BaselineCase& before : baseline_.cases) results += before.outputs.size();
    limits_ = {options_.chance / static_cast<double>(2 * results), options_.smallest};

    std::map<std::string, std::int64_t> lost;
    for (const BaselineCase& before : baseline_.cases) {
      const auto found = now.find({before.case_text, before.path});
      if (found != now.end()) {
        compare(before, found->second);
        now.erase(found);
      } else if (before.verdict == Verdict::unsupported) {
        continue;
      } else if (paths.contains(before.path)) {
        add({Kind::lost_case, before.case_text, before.path, "",
             fmt::format("the baseline has this case ({}), the records do not", name_of(before.verdict)),
             ""});
      } else {
        ++lost[before.path];
      }
    }
    compare_times();
    for (const auto& [path, cases] : lost)
      add({Kind::lost_path, "", path, "", fmt::format("all {} cases of this path are gone", cases), ""});
    for (const auto& [place, fresh] : now) {
      if (judge(fresh))
        add({Kind::fresh, place.first, place.second, "", "not in the baseline; 'parity bless' takes it in",
             fresh.front()->repro, false});
    }
  }

 private:
  void add(GateFinding finding) { report_.findings.push_back(std::move(finding)); }

  /// What the verdicts say, whatever the baseline has. Whether all passed.
  bool judge(const std::vector<const Record*>& records) {
    std::set<std::string_view> verdicts;
    std::size_t runs = 0;
    const Record* worst = records.front();
    for (const Record* record : records) {
      verdicts.insert(name_of(record->verdict));
      for (const Rerun& rerun : record->reruns) verdicts.insert(name_of(rerun.verdict));
      runs += 1 + record->reruns.size();
      if (worse(record->verdict, worst->verdict) != worst->verdict) worst = record;
    }
    if (is_failure(worst->verdict))
      add({verdicts.size() > 1 ? Kind::flaky : Kind::contract, worst->case_text, worst->path, "",
           verdicts.size() > 1
               ? fmt::format("{} runs gave {}: {}", runs, fmt::join(verdicts, " and "), worst->reason)
               : fmt::format("{}: {}", name_of(worst->verdict), worst->reason),
           worst->repro});
    return worst->verdict == Verdict::pass;
  }

  void compare(const BaselineCase& before, const std::vector<const Record*>& records) {
    ++report_.compared;
    const bool passes = judge(records);
    const auto lapsed =
        std::ranges::find_if(records, [](const Record* record) { return not_judged(record->verdict); });
    if (lapsed == records.end()) {
      ++report_.judged;
    } else if (before.verdict == Verdict::pass) {
      const Record& record = **lapsed;
      add({Kind::not_judged, record.case_text, record.path, "",
           fmt::format("passed in the baseline, now {}: {}", name_of(record.verdict), record.reason),
           record.repro});
    }
    if (!passes || before.verdict != Verdict::pass) return;
    Differences differences;
    differences.vary = std::ranges::any_of(records, vary);
    for (const Record* record : records) {
      const BaselineCase now = baseline_case(*record);
      if (now.inputs != before.inputs) {
        add({Kind::not_judged, record->case_text, record->path, "",
             "the inputs are not those of the baseline: their generator or the case's meaning changed; "
             "nothing can be compared until the baseline is blessed",
             record->repro});
        return;
      }
      note_differences(before, now, differences);
    }
    say(before, differences, *records.back());
    note_time(before, baseline_case(*records.back()));
  }

  /// What the records of one case have against its baseline: results by their place there, so that several
  /// records say a thing once.
  struct Differences {
    bool vary = false;  ///< repeated runs had other bits
    std::set<std::size_t> lost, compared;
    std::set<std::size_t> changed, asked;  ///< changed: in their bits; asked: that is a finding
    std::map<std::pair<std::size_t, std::string>, std::string> drifts;  ///< by place and statistic
  };

  void note_differences(const BaselineCase& before, const BaselineCase& now, Differences& differences) const {
    // A case of several steps judges the same call more than once: the second of these belongs to the second.
    std::multimap<ResultKey, const BaselineOutput*> results;
    for (const BaselineOutput& output : now.outputs) results.emplace(result_key(output), &output);
    for (std::size_t i = 0; i < before.outputs.size(); ++i) {
      const BaselineOutput& old = before.outputs[i];
      const ResultKey key = result_key(old);
      const auto place = results.lower_bound(key);  // the first of equals
      if (place == results.end() || place->first != key) {
        differences.lost.insert(i);
        continue;
      }
      const BaselineOutput* found = place->second;
      results.erase(place);
      if (old.bits != 0) {
        differences.compared.insert(i);
        if (old.bits == found->bits) continue;
        differences.changed.insert(i);
        if (before.reproducible && !differences.vary) differences.asked.insert(i);
      }
      DriftLimits limits = limits_;
      limits.bits_vary = !before.reproducible || differences.vary;
      for (const MovedStatistic& drift : find_drift(old, *found, limits))
        differences.drifts.emplace(std::pair(i, drift.statistic), drift.text);
    }
  }

  void say(const BaselineCase& before, const Differences& found, const Record& record) {
    const auto name = [&](std::size_t place) { return before.outputs[place].tensor; };
    const auto about = [&](Kind kind, std::size_t place, std::string text) {
      add({kind, record.case_text, record.path, name(place), std::move(text), record.repro});
    };
    report_.results += static_cast<std::int64_t>(found.compared.size());
    report_.same_bits += static_cast<std::int64_t>(found.compared.size() - found.changed.size());
    if (!found.lost.empty()) {
      std::vector<std::string> names;
      for (const std::size_t place : found.lost) names.push_back(name(place));
      about(Kind::not_judged, *found.lost.begin(),
            fmt::format("{} results of the baseline are no longer judged: {}", names.size(),
                        fmt::join(names, ", ")));
    }
    if (found.vary && before.reproducible)
      add({Kind::bits, record.case_text, record.path, "",
           "repeated runs had other bits, and the same ones in the baseline: a race, or atomics",
           record.repro});
    if (!found.asked.empty())
      about(Kind::bits, *found.asked.begin(),
            fmt::format(
                "other bits of the same inputs in {} of {} results, {}", found.asked.size(),
                before.outputs.size(),
                found.drifts.empty() ? "their errors distributed as before" : "and their errors moved"));
    for (const auto& [place, text] : found.drifts) about(Kind::drift, place.first, text);
  }

  void note_time(const BaselineCase& before, const BaselineCase& now) {
    if (before.time_ratio > 0 && now.time_ratio > 0)
      times_[now.path].push_back(now.time_ratio / before.time_ratio);
  }

  /// Single cases are often too short for a clock: the median of a path's cases is judged.
  void compare_times() {
    for (auto& [path, times] : times_) {
      const double middle = median_of(times);
      const bool fails = options_.fail_slower && middle > *options_.fail_slower;
      if (middle > options_.slower || fails)
        add({Kind::slower, "", path, "",
             fmt::format("{:.2f} times the baseline's time, the median of {} cases, each against the "
                         "reference of the "
                         "same minute",
                         middle, times.size()),
             "", fails});
    }
  }

  const Baseline& baseline_;
  const GateOptions& options_;
  GateReport& report_;
  DriftLimits limits_;
  std::map<std::string, std::vector<double>> times_;  ///< by path: times the baseline's
};

void waive(const std::vector<Waiver>& waivers, const GateOptions& options, GateReport& report) {
  std::vector<GateFinding> about;
  for (const Waiver& waiver : waivers) {
    if (!waiver.fits(report.device)) continue;
    const std::string named =
        fmt::format("waiver {} ({}, until {})", waiver.line, waiver.reason, waiver.expires);
    if (waiver.expired(options.today)) {
      about.push_back({Kind::waiver, waiver.case_text, waiver.path, "",
                       fmt::format("{} has expired: cure its cause, or renew it with a reason", named), ""});
      continue;
    }
    bool used = false;
    for (GateFinding& finding : report.findings) {
      if (!finding.fails || !waiver.fits(name_of(finding.kind), finding.case_text, finding.path)) continue;
      used = true;
      if (finding.waived.empty()) finding.waived = fmt::format("{}, until {}", waiver.reason, waiver.expires);
    }
    if (!used)
      about.push_back({Kind::waiver, waiver.case_text, waiver.path, "",
                       fmt::format("{} is not needed: take it out", named), ""});
  }
  std::ranges::move(about, std::back_inserter(report.findings));
}

}  // namespace

std::string_view name_of(GateFinding::Kind kind) {
  switch (kind) {
    case Kind::contract:
      return "contract";
    case Kind::lost_path:
      return "lost path";
    case Kind::lost_case:
      return "lost case";
    case Kind::not_judged:
      return "not judged";
    case Kind::flaky:
      return "flaky";
    case Kind::bits:
      return "bits";
    case Kind::drift:
      return "drift";
    case Kind::slower:
      return "slower";
    case Kind::fresh:
      return "new";
    case Kind::waiver:
      return "waiver";
    case Kind::incomplete:
      return "incomplete";
  }
  return "?";
}

std::int64_t GateReport::failures() const {
  return std::ranges::count_if(findings, [](const GateFinding& f) { return f.fails && f.waived.empty(); });
}

bool GateReport::passes() const {
  return failures() == 0 && judged > 0;
}

Result<GateReport> run_gate(std::span<const Record> records, const Baseline& baseline,
                            const std::vector<Waiver>& waivers, const GateOptions& options) {
  if (records.empty()) return bad_input("there are no records to compare with the baseline");
  GateReport report;
  report.device = records.front().device;
  report.driver_before = baseline.driver;
  report.commit = records.front().provenance.commit;
  for (const Record& record : records) {
    if (record.provenance.commit != report.commit)
      return bad_input(fmt::format("the records are of several commits ({} and {}); give those of one run",
                                   report.commit, record.provenance.commit));
    if (record.device.name != baseline.device || record.device.backend != baseline.backend)
      return bad_input(
          fmt::format("the records are of '{}' ({}) and the baseline is of '{}' ({}); choose the records "
                      "with --device, or another baseline",
                      record.device.name, record.device.backend, baseline.device, baseline.backend));
  }
  if (const auto one = check_one_device(records); !one) return tl::unexpected(one.error());
  Gate(baseline, options, report).run(records);
  waive(waivers, options, report);
  for (const std::string& sentence : options.missing)
    report.findings.push_back({Kind::incomplete, "", "", "", sentence, ""});
  std::ranges::stable_sort(report.findings, {}, &GateFinding::kind);
  return report;
}

}  // namespace parity
