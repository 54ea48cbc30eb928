#include "harness/bisect/program_bisection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "harness/bisect/trace_session.hpp"
#include "harness/ladder/call_judge.hpp"
#include "harness/ladder/isolated_call.hpp"

namespace parity {
namespace {

constexpr std::size_t most_names = 32;

using Ids = std::set<TensorId>;

Ids ids_of(const OpCall& call) {
  Ids ids;
  for (const auto* ports : {&call.inputs, &call.outputs})
    for (const TensorId id : *ports)
      if (id != no_tensor) ids.insert(id);
  return ids;
}

PortTensors ports_of(const std::vector<TensorId>& ids, const std::map<TensorId, Tensor>& tensors) {
  PortTensors ports;
  for (const TensorId id : ids) ports.push_back(id == no_tensor ? nullptr : &tensors.at(id));
  return ports;
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
  CallResult result_of(std::size_t call, std::size_t port, const std::map<TensorId, Tensor>& tensors) const;
  void note_growth(const std::vector<TensorScan>& scans);
  Done find_nonfinite(const std::vector<TensorScan>& scans);
  Result<void> blame(const TracePoint& point, const ExaminedCall& examined,
                     const std::map<TensorId, Tensor>& tensors);
  /// Judges the calls [0, end) of the step that ran, until one is outside its contract: the producer.
  Done judge_step(std::size_t end);
  Result<void> look_before();
  Done search_between(std::int64_t good, const std::map<TensorId, Tensor>& states, std::int64_t bad);
  Result<std::string> run_alone(const TracePoint& point, const std::map<TensorId, Tensor>& tensors);

  const BisectTarget& target_;
  const BisectOptions& options_;
  TraceSession session_;
  Confirmations confirmations_;
  BisectReport report_;
};

CallResult Search::result_of(std::size_t index, std::size_t port,
                             const std::map<TensorId, Tensor>& tensors) const {
  const OpCall& call = program().calls[index];
  return {target_.ops.find(call.op), &call.attributes, ports_of(call.inputs, tensors), port,
          &tensors.at(call.outputs[port])};
}

void Search::note_growth(const std::vector<TensorScan>& scans) {
  for (std::size_t i = 0; i < scans.size(); ++i) {
    const TensorSpec& spec = program().spec(session_.trace().points[i].tensor);
    const TracePlace place = place_of(spec.name);
    auto found = std::ranges::find_if(report_.growth, [&](const Growth& g) {
      return g.tensor == place.name && g.layer == place.layer && g.dtype == spec.dtype;
    });
    if (found == report_.growth.end()) {
      report_.growth.push_back({place.name, place.layer, spec.dtype, {}});
      found = report_.growth.end() - 1;
    }
    found->points.push_back({session_.step(), place.timestep.value_or(0), scans[i].largest});
    report_.timesteps = std::max(report_.timesteps, place.timestep.value_or(0) + 1);
  }
}

/// What the call did when run by itself: the same bits, or something else.
Result<std::string> Search::run_alone(const TracePoint& point, const std::map<TensorId, Tensor>& tensors) {
  const OpCall& call = program().calls[point.call];
  // A wrong stride shows where there are strides.
  const auto stored = session_.tensors(ids_of(call), true);
  if (!stored) return tl::unexpected(stored.error());
  std::vector<DType> stores;
  for (const TensorId id : call.outputs) stores.push_back(program().spec(id).dtype);
  IsolatedCall alone(target_.device, *target_.ops.find(call.op), call,
                     *session_.assignment().implementations[point.call], ports_of(call.inputs, *stored),
                     stores);
  auto outputs = alone.run({});
  if (!outputs) return tl::unexpected(outputs.error());
  const Tensor& before = tensors.at(point.tensor);
  const Tensor& now = (*outputs)[point.port];
  std::int64_t differ = 0, nonfinite = 0;
  for (std::int64_t i = 0; i < now.elements(); ++i) {
    differ += now.bits(i) != before.bits(i);
    nonfinite += !std::isfinite(now.value(i));
  }
  if (differ == 0) return std::string("run by itself on the same inputs it gives the same bits");
  return fmt::format(
      "run by itself on the same inputs {} of {} elements come out different, {} of them NaN or Inf: look "
      "between the calls (a barrier, an alias, a binding), or at what is not an input (memory that is read "
      "before it is written)",
      differ, now.elements(), nonfinite);
}

Result<void> Search::blame(const TracePoint& point, const ExaminedCall& examined,
                           const std::map<TensorId, Tensor>& tensors) {
  const OpCall& call = program().calls[point.call];
  const Op& op = *target_.ops.find(call.op);
  const Implementation& implementation = *session_.assignment().implementations[point.call];
  const TensorSpec& spec = program().spec(point.tensor);
  Producer p;
  p.call = point.call, p.step = session_.step();
  p.op = call.op, p.path = implementation.path;
  p.precision = fmt::format("{} in, {} accumulated, {} stored", name_of(implementation.input),
                            name_of(implementation.accumulate), name_of(spec.dtype));
  p.port = op.outputs()[point.port].name, p.tensor = spec.name;
  p.place = place_of(spec.name);
  p.index = place_in(spec.shape, examined.element);
  p.elements = tensors.at(point.tensor).elements();
  p.examined = examined;
  p.attributes = call.attributes;
  for (std::size_t port = 0; port < call.inputs.size(); ++port) {
    const TensorId id = call.inputs[port];
    if (id == no_tensor) continue;
    const Tensor& tensor = tensors.at(id);
    p.inputs.push_back({std::string(op.inputs()[port].name), program().spec(id).name, tensor.dtype(),
                        is_float(tensor.dtype()) ? scan_tensor(tensor) : TensorScan{}});
    p.tensors.emplace(op.inputs()[port].name, tensor);
  }
  p.tensors.emplace("got:" + p.port, tensors.at(point.tensor));
  auto alone = run_alone(point, tensors);
  p.alone = alone ? *alone : "it could not be run by itself: " + alone.error().message;
  report_.producer = std::move(p);
  return {};
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
    const auto examined =
        examine_nonfinite(result_of(points[i].call, points[i].port, *tensors), implementation);
    if (!examined) return tl::unexpected(examined.error());
    if (!examined->producer) continue;
    if (auto ok = blame(points[i], *examined, *tensors); !ok) return tl::unexpected(ok.error());
    report_.kind = BisectReport::Kind::not_finite;
  }
  if (any && !report_.producer) report_.kind = BisectReport::Kind::given;
  return any;
}

Search::Done Search::judge_step(std::size_t end) {
  report_.judged_steps.push_back(session_.step());
  const Stage& stage = *target_.stages.find(target_.c.stage);
  for (std::size_t index = 0; index < end; ++index) {
    const OpCall& op_call = program().calls[index];
    auto tensors = session_.tensors(ids_of(op_call));
    if (!tensors) return tl::unexpected(tensors.error());
    const Implementation& implementation = *session_.assignment().implementations[index];
    FinishedCall call{&session_.program(), index,     target_.ops.find(op_call.op),
                      &implementation,     &*tensors, &*tensors};
    call.exact = options_.inputs.empty() && bits_are_contract(stage, target_.c, implementation);
    call.power = false;
    call.seed = target_.c.seed;
    auto judged = judge_call(call, confirmations_);
    if (!judged) return tl::unexpected(judged.error());
    for (std::size_t port = 0; port < judged->size(); ++port) {
      const Judgement& judgement = (*judged)[port].judgement;
      if (judgement.verdict == Verdict::pass || judgement.verdict == Verdict::untrusted) continue;
      const TracePoint point{index, port, op_call.outputs[port], 0};
      if (auto ok = blame(point, examine_judgement(judgement), *tensors); !ok)
        return tl::unexpected(ok.error());
      report_.kind = BisectReport::Kind::out_of_contract;
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
  if (*wrong) report_.before = std::exchange(report_.producer, std::nullopt);
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
  const Stage& stage = *target_.stages.find(target_.c.stage);
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

Result<BisectReport> bisect_program(const BisectTarget& target, const BisectOptions& options) {
  auto session = TraceSession::load(target, options);
  if (!session) return tl::unexpected(session.error());
  return Search(target, options, *std::move(session)).run();
}

}  // namespace parity
