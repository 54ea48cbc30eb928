#include "harness/faults/trial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/numerics/common_thresholds.hpp"

namespace parity::faults {

namespace {

constexpr std::array<std::string_view, 5> outcome_names = {"caught", "missed", "idle", "unhealthy",
                                                           "unsupported"};

RunOptions run_options(int repeats) {
  RunOptions options;
  options.repeats = repeats;
  options.order_effects = false;
  return options;
}

bool has_cooperative_matrices(const std::string& path) {
  return path.starts_with("coopmat_") || path.starts_with("wmma_") || path.starts_with("tensor_core_");
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

std::optional<Outcome> parse_outcome(std::string_view text) {
  const auto found = std::ranges::find(outcome_names, text);
  if (found == outcome_names.end()) return std::nullopt;
  return static_cast<Outcome>(found - outcome_names.begin());
}

/// What one run leaves besides its record.
struct TrialRunner::Observed {
  std::uint64_t bits = 0;
  std::int64_t tensors = 0;
  std::array<bool, 4> thresholds{};
  double error = 0;

  void add(const OutputRecord& output, const Tensor& got, const Value& want) {
    bits = bits * 0x9e3779b97f4a7c15u + content_hash(got);
    if (got.elements() == 0) return;
    ++tensors;
    const CommonThresholds passes = common_thresholds(got, want);
    thresholds[0] |= !passes.cosine;
    thresholds[1] |= !passes.nmse;
    thresholds[2] |= !passes.assert_close;
    thresholds[3] |= !passes.allclose;
    error = std::max(error, output.judgement.statistics.max_bound_ratio);
  }
};

TrialRunner::TrialRunner(const OpTable& ops, const StageTable& stages, Device& device, bool withhold_order,
                         int repeats)
    : stages_(stages), switch_(device, withhold_order), runner_(ops, stages, switch_, [&] {
        RunOptions options = run_options(repeats);
        options.on_output = [this](const OutputRecord& output, const Tensor& got, const Value& want) {
          if (observed_ != nullptr) observed_->add(output, got, want);
        };
        return options;
      }()) {}

Record TrialRunner::judged(const Case& c, const std::string& path, Observed& observed) {
  observed_ = &observed;
  Record record = runner_.run(c, path);
  observed_ = nullptr;
  return record;
}

std::vector<std::string> TrialRunner::paths_for(const Case& c, const std::vector<std::string>& wanted,
                                                bool several) {
  const Stage* stage = stages_.find(c.stage);
  if (stage == nullptr) return {};
  const auto program = stage->build(c);
  if (!program) return {};
  std::vector<std::string> legal;
  for (const std::string& path : assignable_paths(switch_, *program))
    if (assign(switch_, *program, path)) legal.push_back(path);
  if (!wanted.empty()) {
    std::erase_if(legal,
                  [&](const std::string& path) { return std::ranges::find(wanted, path) == wanted.end(); });
    return legal;
  }
  if (legal.empty() || !several) {
    if (legal.size() > 1) legal.resize(1);
    return legal;
  }
  std::vector<std::string> chosen{legal.front()};
  const auto declared = [&](const std::string& path) {
    return std::ranges::any_of(switch_.implementations(), [&](const Implementation& implementation) {
      return implementation.path == path && implementation.knowledge == OrderKnowledge::declared;
    });
  };
  const auto also = [&](auto fits) {
    const auto found = std::ranges::find_if(legal, fits);
    if (found != legal.end() && std::ranges::find(chosen, *found) == chosen.end()) chosen.push_back(*found);
  };
  also(has_cooperative_matrices);
  also([&](const std::string& path) { return !declared(path); });
  return chosen;
}

const HealthyRun& TrialRunner::healthy(const Case& c, const std::string& path) {
  const std::string key = path + " " + print_case(c, stages_);
  const auto known = healthy_.find(key);
  if (known != healthy_.end()) return known->second;
  switch_.heal();
  Observed observed;
  const Record record = judged(c, path, observed);
  HealthyRun run{record.verdict,         record.reason,       observed.tensors,
                 findings_of(record, c), observed.thresholds, observed.bits};
  return healthy_.emplace(key, std::move(run)).first->second;
}

TrialResult TrialRunner::run(const Trial& trial, Device* faulty) {
  TrialResult result;
  result.fault = trial.fault->name;
  result.case_text = print_case(trial.c, stages_);
  result.path = trial.path;
  result.device = switch_.info().id;
  if (const Stage* stage = stages_.find(trial.c.stage)) result.rung = stage->rung();
  result.nominal = trial.nominal;
  result.severity = trial.damage.severity;
  result.position = trial.damage.position;
  result.seed = trial.c.seed;

  const HealthyRun& before = healthy(trial.c, trial.path);
  if (before.verdict != Verdict::pass) {
    // A case that proves nothing on this path is no trial of the verdict.
    const bool no_trial = before.verdict == Verdict::unsupported || before.verdict == Verdict::untrusted;
    result.outcome = no_trial ? Outcome::unsupported : Outcome::unhealthy;
    result.verdict = before.verdict;
    result.reason = "the healthy run: " + before.reason;
    return result;
  }
  if (faulty != nullptr) {
    switch_.use(*faulty);
  } else {
    const CorruptionKind* kind = find_corruption(trial.fault->corruption);
    if (kind == nullptr) {
      result.outcome = Outcome::unsupported;
      result.reason = fmt::format("no change to a result is called '{}'", trial.fault->corruption);
      return result;
    }
    switch_.corrupt(*kind, trial.damage);
  }
  Observed observed;
  const Record record = judged(trial.c, trial.path, observed);
  switch_.heal();
  result.verdict = record.verdict;
  result.reason = record.reason;
  result.findings = findings_of(record, trial.c);
  result.thresholds = observed.thresholds;
  result.error = observed.error;
  if (is_failure(record.verdict))
    result.outcome = Outcome::caught;
  else if (record.verdict == Verdict::unsupported)
    result.outcome = Outcome::unsupported;
  else
    result.outcome = observed.bits == before.bits ? Outcome::idle : Outcome::missed;
  return result;
}

}  // namespace parity::faults
