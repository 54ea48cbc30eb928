#include "harness/faults/check.hpp"

#include <algorithm>

#include "harness/numerics/element_kernel.hpp"

namespace parity::faults {

std::string_view name_of(Check check) {
  constexpr std::array<std::string_view, check_count> names = {
      "replay",    "integer", "selector",  "copy",   "hard",    "spread", "aggregate", "nan_cone",
      "nonfinite", "zeros",   "unwritten", "guards", "repeats", "state",  "drift",     "crash"};
  return names[static_cast<std::size_t>(check)];
}

std::string_view help_of(Check check) {
  constexpr std::array<std::string_view, check_count> texts = {
      "bits of the confirmed order of summation",
      "exact bits, integer inputs",
      "exact bits, selector inputs",
      "exact bits of an op that does not round",
      "hard bound of an element",
      "expected spread of an element",
      "rows, columns, tiles and the tensor together",
      "one NaN reaches too much or too little",
      "NaN or infinite where it may not be",
      "zero throughout",
      "elements never written (poison)",
      "writes outside the elements, or into an input",
      "a repeated run that differs without excuse",
      "a step begins with what the one before left",
      "end-to-end bound",
      "device or harness broke"};
  return texts[static_cast<std::size_t>(check)];
}

namespace {

class FindingsOf {
 public:
  explicit FindingsOf(const Case& c) : case_(c) {}

  void add(const OutputRecord& output) {
    const Judgement& judgement = output.judgement;
    const ErrorStatistics& s = judgement.statistics;
    const ReplayResult& replay = judgement.replay;
    set(Check::replay, replay.attempted && replay.confirmed && replay.equal < replay.compared);
    const bool zero = s.norm_ratio == 0 && s.zeros_want < s.elements && s.elements > 0;
    set(Check::zeros, zero && s.outside_hard > 0);
    set(Check::unwritten, s.unwritten > 0);
    set(case_.fill == Fill::nan_cone ? Check::nan_cone : Check::nonfinite,
        s.missing_nan > 0 || s.unexpected_nonfinite > 0);
    if (wants_bits(output.contract)) {
      const Check tier = case_.fill == Fill::integer    ? Check::integer
                         : case_.fill == Fill::selector ? Check::selector
                                                        : Check::copy;
      set(tier, s.outside_hard > 0);
    } else {
      set(Check::hard, s.outside_hard > 0);
      set(Check::spread, s.outside_spread > 0);
    }
    set(Check::aggregate, !judgement.aggregates.empty());
    set(Check::repeats, std::ranges::any_of(judgement.reasons, [](const std::string& reason) {
          return reason.starts_with("run ") && reason.find(": ") != std::string::npos;
        }));
  }

  void set(Check check, bool found) {
    if (found) findings[static_cast<std::size_t>(check)] = true;
  }

  Findings findings{};

 private:
  const Case& case_;
};

}  // namespace

Findings findings_of(const Record& record, const Case& c) {
  FindingsOf all(c);
  for (const OutputRecord& output : record.outputs) all.add(output);
  all.set(Check::guards,
          !record.guard_damage.empty() || record.reason.find("' was modified") != std::string::npos);
  all.set(Check::state, record.reason.find("does not begin with the state") != std::string::npos);
  all.set(Check::drift, std::ranges::any_of(record.drift, [](const DriftRecord& drift) {
            return drift.max_bound_ratio.value_or(0) > 1;
          }));
  all.set(Check::crash, record.verdict == Verdict::crash || record.verdict == Verdict::timeout);
  return all.findings;
}

}  // namespace parity::faults
