#include "harness/bisect/program_bisection.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "harness/bisect/blamed_call.hpp"

namespace parity {
namespace {

constexpr std::size_t most_names = 32;

BisectReport::Kind kind_of(const Producer& producer, BisectReport::Kind otherwise) {
  return producer.examined.cause.kind == CauseKind::reference ? BisectReport::Kind::reference_at_fault
                                                              : otherwise;
}

/// The search, with what it has learnt.
class Search {
 public:
  Search(const BisectTarget& target, const BisectOptions& options, TraceSession session)
      : target_(target),
        options_(options),
        session_(std::move(session)),
        confirmations_(target.ops, target.stages, target.device) {}

  Result<BisectReport> run();

 private:
  using Done = Result<bool>;  ///< whether the producer is known

  const Program& program() const { return session_.program(); }
  void sort_points();
  void note_growth(const std::vector<TensorScan>& scans);
  Done find_nonfinite(const std::vector<TensorScan>& scans);
  /// Judges the calls [0, end) of the step that ran, until one is outside its contract: the producer.
  Done judge_step(std::size_t end);
  Result<void> look_before();
  Done search_between(std::int64_t good, const std::map<TensorId, Tensor>& states, std::int64_t bad);

  const BisectTarget& target_;
  const BisectOptions& options_;
  TraceSession session_;
  Confirmations confirmations_;
  BisectReport report_;
  struct PointKind {
    std::size_t growth = 0;  ///< place in report_.growth
    std::int64_t timestep = 0;
  };
  std::vector<PointKind> kinds_;  ///< by trace point
};

/// Which kind of tensor each point is of, once: a long run notes millions of them.
void Search::sort_points() {
  const std::vector<TracePoint>& points = session_.trace().points;
  for (const TracePoint& point : points) {
    const TensorSpec& spec = program().spec(point.tensor);
    const TracePlace place = place_of(spec.name);
    auto found = std::ranges::find_if(report_.growth, [&](const Growth& g) {
      return g.tensor == place.name && g.layer == place.layer && g.dtype == spec.dtype;
    });
    if (found == report_.growth.end()) {
      report_.growth.push_back({place.name, place.layer, spec.dtype, {}, {}});
      found = report_.growth.end() - 1;
    }
    kinds_.push_back({static_cast<std::size_t>(found - report_.growth.begin()), place.timestep.value_or(0)});
    report_.timesteps = std::max(report_.timesteps, place.timestep.value_or(0) + 1);
  }
}

void Search::note_growth(const std::vector<TensorScan>& scans) {
  if (kinds_.empty()) sort_points();
  for (Growth& growth : report_.growth) {
    growth.steps.push_back({session_.step(), 0, true});
    growth.timesteps.clear();
  }
  for (std::size_t i = 0; i < scans.size(); ++i) {
    Growth& growth = report_.growth[kinds_[i].growth];
    const bool finite = scans[i].nonfinite() == 0;
    Growth::Point& step = growth.steps.back();
    step.largest = std::max(step.largest, scans[i].largest);
    step.finite = step.finite && finite;
    growth.timesteps.push_back({kinds_[i].timestep, scans[i].largest, finite});
  }
}

/// Goes through the calls that left NaN or Inf, in order, until one is to blame; those before it had a reason
/// in their inputs.
Search::Done Search::find_nonfinite(const std::vector<TensorScan>& scans) {
  const std::vector<TracePoint>& points = session_.trace().points;
  bool any = false;
  for (std::size_t i = 0; i < scans.size(); ++i) {
    if (scans[i].nonfinite() == 0) continue;
    any = true;
    if (report_.producer) {
      ++report_.passed_on_count;
      if (report_.passed_on.size() < most_names)
        report_.passed_on.push_back(program().spec(points[i].tensor).name);
      continue;
    }
    auto tensors = session_.tensors(ids_of(program().calls[points[i].call]));
    if (!tensors) return tl::unexpected(tensors.error());
    const Implementation& implementation = *session_.assignment().implementations[points[i].call];
    const auto examined = examine_nonfinite(
        traced_result(session_, target_, points[i].call, points[i].port, *tensors), implementation);
    if (!examined) return tl::unexpected(examined.error());
    if (!examined->producer) continue;
    report_.producer = blamed_call(session_, target_, points[i], *examined, *tensors);
    report_.kind = kind_of(*report_.producer, BisectReport::Kind::not_finite);
  }
  if (any && !report_.producer) report_.kind = BisectReport::Kind::given;
  return any;
}

Search::Done Search::judge_step(std::size_t end) {
  report_.judged_steps.push_back(session_.step());
  for (std::size_t index = 0; index < end; ++index) {
    const OpCall& call = program().calls[index];
    auto tensors = session_.tensors(ids_of(call));
    if (!tensors) return tl::unexpected(tensors.error());
    const auto judged =
        judge_traced(session_, target_, confirmations_, index, *tensors, !options_.inputs.empty());
    if (!judged) return tl::unexpected(judged.error());
    for (std::size_t port = 0; port < judged->size(); ++port) {
      const Judgement& judgement = (*judged)[port].judgement;
      if (!blames(judgement)) continue;
      const TracePoint point{index, port, call.outputs[port], 0};
      report_.producer = blamed_call(session_, target_, point,
                                     examine_judgement(judgement, tensors->at(point.tensor)), *tensors);
      report_.kind = kind_of(*report_.producer, BisectReport::Kind::out_of_contract);
      return true;
    }
  }
  return false;
}

/// A NaN may be the end of something that began finite.
Result<void> Search::look_before() {
  if (!options_.judge || !report_.producer || report_.kind != BisectReport::Kind::not_finite) return {};
  Producer found = *std::exchange(report_.producer, std::nullopt);
  const auto wrong = judge_step(found.call);
  if (!wrong) return tl::unexpected(wrong.error());
  if (*wrong && report_.kind == BisectReport::Kind::out_of_contract)
    report_.before = std::exchange(report_.producer, std::nullopt);
  report_.producer = std::move(found);
  report_.kind = BisectReport::Kind::not_finite;
  return {};
}

/// The first step after `good` that does not pass, given that `bad` does not.
Search::Done Search::search_between(std::int64_t good, const std::map<TensorId, Tensor>& states,
                                    std::int64_t bad) {
  std::map<TensorId, Tensor> held = states;
  std::optional<Producer> found = report_.producer;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    if (auto ok = session_.rewind(good, held); !ok) return tl::unexpected(ok.error());
    for (;;) {
      if (auto scans = session_.run(); !scans) return tl::unexpected(scans.error());
      if (session_.step() == middle) break;
      if (auto ok = session_.advance(); !ok) return tl::unexpected(ok.error());
    }
    const auto fails = judge_step(program().calls.size());
    if (!fails) return fails;
    if (*fails) {
      bad = middle;
      found = report_.producer;
    } else {
      good = middle;
      auto now = session_.states();
      if (!now) return tl::unexpected(now.error());
      held = *std::move(now);
    }
  }
  report_.producer = std::move(found);
  return true;
}

Result<BisectReport> Search::run() {
  const auto start = std::chrono::steady_clock::now();
  const Stage& stage = *target_.stage();
  report_.steps = options_.steps > 0 ? options_.steps : stage.steps(target_.c);
  report_.calls = static_cast<std::int64_t>(program().calls.size());
  const auto finish = [&] {
    report_.cost = session_.cost();
    report_.cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  };
  for (const auto& [id, scan] : session_.bad_inputs()) report_.given.push_back(program().spec(id).name);
  std::int64_t good = -1;
  std::map<TensorId, Tensor> good_states;
  for (;;) {
    const std::int64_t step = session_.step();
    auto scans = session_.run();
    if (!scans) return tl::unexpected(scans.error());
    if (options_.progress) options_.progress(session_.cost().runs, step);
    note_growth(*scans);
    const auto bad = find_nonfinite(*scans);
    if (!bad) return tl::unexpected(bad.error());
    if (*bad) {
      if (auto ok = look_before(); !ok) return tl::unexpected(ok.error());
      return finish();
    }
    const bool last = step + 1 >= report_.steps;
    if (options_.judge && (last || std::has_single_bit(static_cast<std::uint64_t>(step)) || step == 0)) {
      const auto wrong = judge_step(program().calls.size());
      if (!wrong) return tl::unexpected(wrong.error());
      if (*wrong) {
        if (good >= 0)
          if (auto ok = search_between(good, good_states, step); !ok) return tl::unexpected(ok.error());
        return finish();
      }
      good = step;
      auto states = session_.states();
      if (!states) return tl::unexpected(states.error());
      good_states = *std::move(states);
    }
    if (step == 0) {
      for (int repeat = 1; repeat < options_.repeats; ++repeat) {
        auto again = session_.run();
        if (!again) return tl::unexpected(again.error());
        for (std::size_t i = 0; i < again->size(); ++i) {
          const std::string& name = program().spec(session_.trace().points[i].tensor).name;
          if ((*again)[i].hash != (*scans)[i].hash &&
              std::ranges::find(report_.varying, name) == report_.varying.end())
            report_.varying.push_back(name);
        }
        const auto later = find_nonfinite(*again);
        if (!later) return tl::unexpected(later.error());
        if (*later) return finish();
      }
    }
    if (last) break;
    if (auto ok = session_.advance(); !ok) return tl::unexpected(ok.error());
  }
  if (!report_.varying.empty()) report_.kind = BisectReport::Kind::varies;
  return finish();
}

}  // namespace

std::string_view name_of(BisectReport::Kind kind) {
  constexpr std::string_view names[] = {"healthy", "not_finite", "out_of_contract",
                                        "varies",  "given",      "reference_at_fault"};
  return names[static_cast<std::size_t>(kind)];
}

Result<BisectReport> bisect_program(const BisectTarget& target, const BisectOptions& options) {
  auto session = TraceSession::load(target, options);
  if (!session) return tl::unexpected(session.error());
  return Search(target, options, *std::move(session)).run();
}

}  // namespace parity
