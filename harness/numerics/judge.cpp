#include "harness/numerics/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/numerics/element_kernel.hpp"

namespace parity {
namespace {

using ReplayElements = std::function<std::vector<bool>(const std::vector<std::int64_t>&)>;

/// The number in the larger result.
std::int64_t in_whole(const std::vector<std::int64_t>& chosen, std::int64_t i) {
  return chosen.empty() || i < 0 ? i : chosen[static_cast<std::size_t>(i)];
}

std::string position(std::int64_t index, const Value& want, const JudgedPart& part) {
  const std::int64_t row = in_whole(part.rows, index / want.cols % want.rows);
  const std::int64_t column = in_whole(part.cols, index % want.cols);
  if (want.batch == 1) return fmt::format("({}, {})", row, column);
  return fmt::format("({}, {}, {})", index / (want.rows * want.cols), row, column);
}

/// Counts of wrong elements by their rows and columns in the larger result, up
/// to the last that was judged.
WrongMarginals in_whole(const WrongMarginals& wrong, const JudgedPart& part) {
  WrongMarginals whole = wrong;
  const auto spread = [](const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& chosen,
                         std::vector<std::int64_t>& out) {
    if (chosen.empty()) return;
    out.assign(static_cast<std::size_t>(std::ranges::max(chosen) + 1), 0);
    for (std::size_t i = 0; i < counts.size(); ++i) out[static_cast<std::size_t>(chosen[i])] += counts[i];
  };
  spread(wrong.rows, part.rows, whole.rows);
  spread(wrong.columns, part.cols, whole.columns);
  return whole;
}

/// Collects the reasons; the verdict is the gravest of them.
class Opinion {
 public:
  explicit Opinion(Judgement& judgement) : judgement_(judgement) {}
  void add(Verdict verdict, std::string reason) {
    judgement_.verdict = worse(judgement_.verdict, verdict);
    judgement_.reasons.push_back(std::move(reason));
  }

 private:
  Judgement& judgement_;
};

void judge_non_finite(const Measurement& m, const Value& want, const JudgedPart& part, Opinion& opinion) {
  const ErrorStatistics& s = m.statistics;
  if (s.unwritten > 0) {
    opinion.add(Verdict::fail, fmt::format("{} of {} elements never written, the first at {}", s.unwritten,
                                           s.elements, position(m.first_unwritten, want, part)));
  }
  if (s.missing_nan > 0) {
    opinion.add(Verdict::fail,
                fmt::format("{} elements are finite where the reference is NaN", s.missing_nan));
  }
  if (s.unexpected_nonfinite > 0) {
    opinion.add(Verdict::fail, fmt::format("{} elements are NaN or infinite where the reference is finite",
                                           s.unexpected_nonfinite));
  }
}

bool all_zero(const Tensor& got) {
  for (std::int64_t i = 0; i < got.elements(); ++i)
    if (got.value(i) != 0) return false;
  return true;
}

/// Zeros throughout where the reference has none such: a result that nobody computed, a gradient that never
/// arrived. Within the bounds they are no fault (what underflows).
void judge_zeros(const Tensor& got, const Measurement& m, Opinion& opinion) {
  const ErrorStatistics& s = m.statistics;
  if (s.outside_hard == 0 || s.norm_ratio != 0 || s.zeros_want == s.elements || !all_zero(got)) return;
  opinion.add(Verdict::fail,
              fmt::format("all {} elements are zero, {} of them beyond the hard bound: never computed",
                          s.elements, s.outside_hard));
}

/// What is outside its bounds besides what has a reason of its own already.
void judge_elements(const Measurement& m, const Value& want, const JudgedPart& part, const Contract& contract,
                    const ReplayResult& replay, Opinion& opinion) {
  const ErrorStatistics& s = m.statistics;
  if (s.outside_hard == 0) return;
  const WorstElement& worst = s.worst.front();
  const std::string example = fmt::format("worst at {}: got {:.9g}, want {:.9g}",
                                          position(worst.index, want, part), worst.got, worst.want);
  if (wants_bits(contract)) {
    opinion.add(Verdict::fail, fmt::format("{} of {} elements differ from the exact result; {}",
                                           s.outside_hard, s.elements, example));
    return;
  }
  opinion.add(Verdict::fail, fmt::format("{} of {} elements beyond the hard bound; {}", s.outside_hard,
                                         s.elements, example));
  if (replay.all_equal()) {
    opinion.add(Verdict::fail,
                fmt::format("reference and model disagree: the bits equal the replay ({}) and yet lie "
                            "beyond the hard bound; one of the two is wrong",
                            replay.model));
  }
}

void judge_suspects(const Measurement& m, const Contract& contract, const ReplayResult& replay,
                    bool replay_explains, const ReplayElements& replay_elements, Opinion& opinion) {
  if (m.suspect_count == 0 || replay_explains) return;
  const std::string outside =
      fmt::format("{} elements outside the expected spread, inside the hard bound", m.suspect_count);
  if (!replay_elements) {
    opinion.add(Verdict::suspect, outside + "; no replay to explain them");
    return;
  }
  const std::vector<bool> equal = replay_elements(m.suspects);
  const auto explained = static_cast<std::int64_t>(std::count(equal.begin(), equal.end(), true));
  const auto asked = static_cast<std::int64_t>(m.suspects.size());
  if (explained == asked && equal.size() == m.suspects.size() && asked == m.suspect_count) return;
  if (explained < asked) {
    const bool known = contract.order_known || replay.confirmed;
    opinion.add(known ? Verdict::fail : Verdict::suspect,
                fmt::format("{}; replay gives other bits for {} of {}", outside, asked - explained, asked));
    return;
  }
  opinion.add(Verdict::suspect, fmt::format("{}; only the first {} were replayed", outside, asked));
}

void judge_replay(const ReplayResult& replay, Opinion& opinion) {
  if (!replay.attempted || !replay.confirmed || replay.equal == replay.compared) return;
  opinion.add(Verdict::fail, fmt::format("bits differ from the confirmed order in {} of {} elements ({})",
                                         replay.compared - replay.equal, replay.compared, replay.model));
}

/// Rounding errors of structured data need not behave like noise (a row of products with one number). Where a
/// path follows a confirmed model and the sample has its bits, a finding whose own elements have them too is
/// what a healthy device computes.
void explain_by_bits(const Measurement& m, const Value& want, const ReplayResult& replay,
                     const ReplayElements& replay_elements, std::vector<AggregateFinding>& findings) {
  constexpr std::int64_t most = 512;
  if (!replay.confirmed || !replay.all_equal() || !replay_elements) return;
  std::erase_if(findings, [&](const AggregateFinding& finding) {
    const std::vector<bool> equal = replay_elements(elements_of(finding, want, m, most));
    return !equal.empty() && std::count(equal.begin(), equal.end(), false) == 0;
  });
}

void judge_aggregates(const Measurement& m, bool replay_explains, Judgement& judgement, Opinion& opinion) {
  if (judgement.aggregates.empty() || replay_explains) return;
  const AggregateFinding& worst = judgement.aggregates.front();
  opinion.add(Verdict::fail, fmt::format("elements are within their bounds but together they are not: {}{}",
                                         to_string(worst, m),
                                         judgement.aggregates.size() > 1
                                             ? fmt::format(" (and {} more)", judgement.aggregates.size() - 1)
                                             : ""));
}

/// Where only aggregates are off, the place is theirs: the narrowest scope that all findings share, or the
/// worst.
void locate_by_aggregates(const Measurement& m, const Value& want, Judgement& judgement) {
  if (judgement.location.wrong > 0 || judgement.aggregates.empty()) return;
  const AggregateFinding& worst = judgement.aggregates.front();
  const std::string text = to_string(worst, m);
  judgement.location.pattern = fmt::format("{} (as an aggregate)", text.substr(0, text.find(':')));
  ErrorLocation& l = judgement.location;
  l.first_batch = l.last_batch = worst.batch;
  l.first_row = 0, l.last_row = want.rows - 1, l.first_col = 0, l.last_col = want.cols - 1;
  using Scope = AggregateFinding::Scope;
  if (worst.scope == Scope::row) l.first_row = l.last_row = worst.index;
  if (worst.scope == Scope::column) l.first_col = l.last_col = worst.index;
  if (worst.scope == Scope::tensor) l.first_batch = 0, l.last_batch = want.batch - 1;
  if (worst.scope == Scope::tile) {
    l.first_row = worst.index / m.tile_columns * Measurement::tile;
    l.first_col = worst.index % m.tile_columns * Measurement::tile;
    l.last_row = std::min(l.first_row + Measurement::tile, want.rows) - 1;
    l.last_col = std::min(l.first_col + Measurement::tile, want.cols) - 1;
  }
}

}  // namespace

Judgement judge(const Tensor& got, const Value& want, const Contract& contract, const ReplayResult& replay,
                const ReplayElements& replay_elements, const JudgedPart& part) {
  Judgement judgement;
  judgement.replay = replay;
  judgement.location.pattern = "none";
  Opinion opinion(judgement);
  if (got.elements() != want.size()) {
    opinion.add(Verdict::fail, fmt::format("the result has {} elements, the reference {} ({} x {} x {})",
                                           got.elements(), want.size(), want.batch, want.rows, want.cols));
    return judgement;
  }
  if (got.dtype() != contract.store) {
    opinion.add(Verdict::fail, fmt::format("the result is {}, the contract stores {}", name_of(got.dtype()),
                                           name_of(contract.store)));
    return judgement;
  }
  const bool exact = wants_bits(contract);
  if (!exact && !want.tracked()) {
    opinion.add(Verdict::untrusted, "the reference carries no error bounds: nothing can be judged");
    return judgement;
  }

  const Measurement m = measure(got, want, contract);
  judgement.statistics = m.statistics;
  judgement.location = locate(in_whole(m.wrong, part));
  const bool replay_explains = replay.all_equal() && replay.compared == m.statistics.elements;
  judge_non_finite(m, want, part, opinion);
  judge_zeros(got, m, opinion);
  judge_elements(m, want, part, contract, replay, opinion);
  judge_suspects(m, contract, replay, replay_explains, replay_elements, opinion);
  judge_replay(replay, opinion);
  if (!exact) {
    AggregateReport report = aggregate_report(m, got, want, contract);
    judgement.aggregates = std::move(report.findings);
    if (!replay_explains) explain_by_bits(m, want, replay, replay_elements, judgement.aggregates);
    for (AggregateFinding& finding : judgement.aggregates) {
      if (finding.scope == AggregateFinding::Scope::row) finding.index = in_whole(part.rows, finding.index);
      if (finding.scope == AggregateFinding::Scope::column)
        finding.index = in_whole(part.cols, finding.index);
    }
    judgement.worst_aggregate = report.worst;
    judge_aggregates(m, replay_explains, judgement, opinion);
    locate_by_aggregates(m, want, judgement);
  }
  for (WorstElement& worst : judgement.statistics.worst) {
    worst.row = in_whole(part.rows, worst.row);
    worst.col = in_whole(part.cols, worst.col);
  }
  const double zeros = static_cast<double>(m.statistics.zeros_want);
  if (exact && judgement.verdict == Verdict::pass &&
      zeros > contract.untrusted_zero_fraction * static_cast<double>(m.statistics.elements)) {
    opinion.add(Verdict::untrusted,
                fmt::format("{} of {} reference elements are zero: equal bits prove little",
                            m.statistics.zeros_want, m.statistics.elements));
  }
  return judgement;
}

void add_pictures(Judgement& judgement, const Tensor& got, const Value& want, const Contract& contract) {
  judgement.predicted_ulp = predicted_ulp_histogram(want, contract);
  if (judgement.verdict != Verdict::fail && judgement.verdict != Verdict::suspect) return;
  if (ErrorMap map = map_errors(got, want, contract); !map.ratios.empty()) judgement.map = std::move(map);
}

}  // namespace parity
