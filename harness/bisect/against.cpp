#include "harness/bisect/against.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "harness/bisect/blamed_call.hpp"

namespace parity {
namespace {

/// One of the two implementations.
struct Side {
  const BisectTarget& target;
  TraceSession session;
  Confirmations confirmations;
  std::vector<TensorScan> scans;                    ///< of the last run
  std::map<TensorId, Tensor> good_states, tensors;  ///< of the last good step; of the call looked at
  std::vector<OutputRecord> judged;
  std::vector<Value> reference;  ///< for this side's own inputs, with bounds, before the store
};

class PairSearch {
 public:
  PairSearch(Side& first, Side& second, const BisectOptions& options)
      : first_(first), second_(second), options_(options) {}
  Result<AgainstReport> run();

 private:
  const Program& program() const { return first_.session.program(); }
  const std::vector<TracePoint>& points() const { return first_.session.trace().points; }
  bool equal_bits(std::size_t point) const { return first_.scans[point].hash == second_.scans[point].hash; }
  bool one_sided() const;
  Result<void> run_step();
  Result<void> advance();
  Result<void> keep_good();
  Result<void> note_begin();
  Result<void> load_call(std::size_t call);
  Apart apart(const TracePoint& point) const;
  void measure(const TracePoint& point, Apart& apart) const;
  void note_drift(const TracePoint& point);
  std::optional<Producer> blamed(Side& side, const TracePoint& point) const;
  /// Whether a call of the step that ran breaks a contract: then it is the divergence.
  Result<bool> judge_step();
  Result<void> search_between(std::int64_t good, std::int64_t bad);

  Side& first_;
  Side& second_;
  const BisectOptions& options_;
  AgainstReport report_;
};

bool PairSearch::one_sided() const {
  for (std::size_t i = 0; i < points().size(); ++i)
    if ((first_.scans[i].nonfinite() == 0) != (second_.scans[i].nonfinite() == 0)) return true;
  return false;
}

Result<void> PairSearch::run_step() {
  for (Side* side : {&first_, &second_}) {
    auto scans = side->session.run();
    if (!scans) return tl::unexpected(scans.error());
    side->scans = *std::move(scans);
  }
  if (options_.progress)
    options_.progress(first_.session.cost().runs + second_.session.cost().runs, first_.session.step());
  report_.differing = 0;
  for (std::size_t i = 0; i < points().size(); ++i) report_.differing += !equal_bits(i);
  return {};
}

Result<void> PairSearch::advance() {
  if (auto ok = first_.session.advance(); !ok) return ok;
  return second_.session.advance();
}

Result<void> PairSearch::keep_good() {
  for (Side* side : {&first_, &second_}) {
    auto states = side->session.states();
    if (!states) return tl::unexpected(states.error());
    side->good_states = *std::move(states);
  }
  return {};
}

/// The tensors of a call on both sides.
Result<void> PairSearch::load_call(std::size_t call) {
  for (Side* side : {&first_, &second_}) {
    auto tensors = side->session.tensors(ids_of(program().calls[call]));
    if (!tensors) return tl::unexpected(tensors.error());
    side->tensors = *std::move(tensors);
  }
  return {};
}

/// Which call, and the element that is furthest apart.
Apart PairSearch::apart(const TracePoint& point) const {
  Apart a;
  const TensorSpec& spec = program().spec(point.tensor);
  a.call = point.call, a.step = first_.session.step();
  a.op = program().calls[point.call].op;
  a.first_path = first_.session.assignment().implementations[point.call]->path;
  a.second_path = second_.session.assignment().implementations[point.call]->path;
  a.tensor = spec.name, a.place = place_of(spec.name);
  const Tensor& x = first_.tensors.at(point.tensor);
  const Tensor& y = second_.tensors.at(point.tensor);
  a.elements = x.elements();
  double largest = -1;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < a.elements; ++i) {
    if (x.bits(i) == y.bits(i)) continue;
    ++a.differing;
    const double difference = std::fabs(x.value(i) - y.value(i));
    // One that only one side has is further apart than any number.
    const double rank = std::isnan(difference) ? HUGE_VAL : difference;
    if (rank > largest) largest = rank, at = i;
  }
  a.index = place_in(spec.shape, at);
  a.first = x.value(at), a.second = y.value(at);
  return a;
}

/// The element whose difference is the largest part of what both contracts allow; both references are there.
void PairSearch::measure(const TracePoint& point, Apart& a) const {
  const auto bounds = [&](const Side& side) {
    ArithmeticModel model = side.session.assignment().implementations[point.call]->contract;
    const DType store = program().spec(point.tensor).dtype;
    model.precision.store = store;
    return make_tracked_arithmetic(model)->store(side.reference[point.port], store);
  };
  const Value want_x = bounds(first_), want_y = bounds(second_);
  const Tensor& x = first_.tensors.at(point.tensor);
  const Tensor& y = second_.tensors.at(point.tensor);
  double largest = -1;
  for (std::int64_t i = 0; i < a.elements; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (x.bits(i) == y.bits(i)) continue;
    const double unexplained = std::fabs((x.value(i) - y.value(i)) - (want_x.v[at] - want_y.v[at]));
    const double allowed = want_x.hard[at] + want_y.hard[at];
    const double part = unexplained == 0 ? 0 : unexplained / allowed;
    if (!(part > largest)) continue;
    largest = part;
    a.part = part, a.index = place_in(program().spec(point.tensor).shape, i);
    a.first = x.value(i), a.second = y.value(i);
  }
}

void PairSearch::note_drift(const TracePoint& point) {
  const Tensor& x = first_.tensors.at(point.tensor);
  const Tensor& y = second_.tensors.at(point.tensor);
  double difference = 0, largest = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (!std::isfinite(x.value(i)) || !std::isfinite(y.value(i))) continue;
    difference = std::max(difference, std::fabs(x.value(i) - y.value(i)));
    largest = std::max(largest, std::fabs(x.value(i)));
  }
  const TracePlace place = place_of(program().spec(point.tensor).name);
  auto found = std::ranges::find_if(
      report_.drift, [&](const Drift& d) { return d.tensor == place.name && d.layer == place.layer; });
  if (found == report_.drift.end()) {
    report_.drift.push_back({place.name, place.layer, {}});
    found = report_.drift.end() - 1;
  }
  found->points.push_back({first_.session.step(), place.timestep.value_or(0),
                           difference == 0 ? 0 : difference / std::max(largest, 1e-300)});
}

Result<void> PairSearch::note_begin() {
  if (report_.begins || report_.differing == 0) return {};
  std::size_t first = 0;
  while (equal_bits(first)) ++first;
  const TracePoint& point = points()[first];
  if (auto ok = load_call(point.call); !ok) return ok;
  report_.begins = apart(point);
  return {};
}

std::optional<Producer> PairSearch::blamed(Side& side, const TracePoint& point) const {
  const Judgement& judgement = side.judged[point.port].judgement;
  if (!blames(judgement)) return std::nullopt;
  ExaminedCall examined = examine_judgement(judgement, side.tensors.at(point.tensor));
  if (side.scans[static_cast<std::size_t>(&point - points().data())].nonfinite() > 0) {
    const auto nonfinite =
        examine_nonfinite(traced_result(side.session, side.target, point.call, point.port, side.tensors),
                          *side.session.assignment().implementations[point.call]);
    if (nonfinite && nonfinite->producer) examined = *nonfinite;
  }
  return blamed_call(side.session, side.target, point, examined, side.tensors);
}

Result<bool> PairSearch::judge_step() {
  report_.judged_steps.push_back(first_.session.step());
  std::optional<std::size_t> loaded;
  for (std::size_t i = 0; i < points().size(); ++i) {
    const TracePoint& point = points()[i];
    if (equal_bits(i)) continue;
    if (loaded != point.call) {
      if (auto ok = load_call(point.call); !ok) return tl::unexpected(ok.error());
      for (Side* side : {&first_, &second_}) {
        auto judged = judge_traced(side->session, side->target, side->confirmations, point.call,
                                   side->tensors, !options_.inputs.empty(), &side->reference);
        if (!judged) return tl::unexpected(judged.error());
        side->judged = *std::move(judged);
      }
      loaded = point.call;
    }
    Apart here = apart(point);
    measure(point, here);
    note_drift(point);
    auto first = blamed(first_, point), second = blamed(second_, point);
    if (first || second) {
      const bool certain = (first ? *first : *second).examined.cause.kind != CauseKind::reference;
      report_.kind = certain ? AgainstReport::Kind::diverges : AgainstReport::Kind::reference_at_fault;
      report_.divergence = std::move(here);
      report_.first = std::move(first), report_.second = std::move(second);
      return true;
    }
    if (!report_.widest || here.part > report_.widest->part) report_.widest = std::move(here);
  }
  return false;
}

/// The first step after `good` in which a contract is broken, given that it is in `bad`.
Result<void> PairSearch::search_between(std::int64_t good, std::int64_t bad) {
  AgainstReport found = report_;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    for (Side* side : {&first_, &second_})
      if (auto ok = side->session.rewind(good, side->good_states); !ok) return ok;
    for (;;) {
      if (auto ok = run_step(); !ok) return ok;
      if (first_.session.step() == middle) break;
      if (auto ok = advance(); !ok) return ok;
    }
    const auto breaks = judge_step();
    if (!breaks) return tl::unexpected(breaks.error());
    if (*breaks) {
      bad = middle;
      found = report_;
    } else {
      good = middle;
      if (auto ok = keep_good(); !ok) return ok;
    }
  }
  found.judged_steps = report_.judged_steps;
  report_ = std::move(found);
  return {};
}

Result<AgainstReport> PairSearch::run() {
  const auto start = std::chrono::steady_clock::now();
  const Stage& stage = *first_.target.stage();
  report_.steps = options_.steps > 0 ? options_.steps : stage.steps(first_.target.c);
  report_.calls = static_cast<std::int64_t>(program().calls.size());
  report_.same_kernels = &first_.target.device == &second_.target.device &&
                         first_.session.assignment() == second_.session.assignment();
  std::int64_t good = -1;
  for (std::int64_t step = 0; step < report_.steps; ++step) {
    if (step > 0)
      if (auto ok = advance(); !ok) return tl::unexpected(ok.error());
    if (auto ok = run_step(); !ok) return tl::unexpected(ok.error());
    if (auto ok = note_begin(); !ok) return tl::unexpected(ok.error());
    const bool chosen =
        step == 0 || step + 1 == report_.steps || std::has_single_bit(static_cast<std::uint64_t>(step));
    if (!chosen && !one_sided()) continue;
    if (report_.differing > 0) {
      report_.kind = AgainstReport::Kind::noise;
      const auto breaks = judge_step();
      if (!breaks) return tl::unexpected(breaks.error());
      if (*breaks) {
        if (good >= 0)
          if (auto ok = search_between(good, step); !ok) return tl::unexpected(ok.error());
        break;
      }
    }
    good = step;
    if (auto ok = keep_good(); !ok) return tl::unexpected(ok.error());
  }
  if (report_.begins && report_.kind == AgainstReport::Kind::equal) report_.kind = AgainstReport::Kind::noise;
  for (const Side* side : {&first_, &second_}) {
    const BisectCost& cost = side->session.cost();
    report_.cost.runs += cost.runs, report_.cost.scan_bytes += cost.scan_bytes;
    report_.cost.bytes_written += cost.bytes_written, report_.cost.bytes_read += cost.bytes_read;
  }
  report_.cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(report_);
}

Result<Side> load_side(const BisectTarget& target, const BisectOptions& options) {
  auto session = TraceSession::load(target, options);
  if (!session)
    return fail(session.error().kind,
                "path " + target.path + " of " + target.device.info().id + ": " + session.error().message);
  return Side{
      target, *std::move(session), Confirmations(target.ops, target.stages, target.device), {}, {}, {}, {},
      {}};
}

}  // namespace

Result<AgainstReport> bisect_against(const BisectTarget& first, const BisectTarget& second,
                                     const BisectOptions& options) {
  auto a = load_side(first, options);
  if (!a) return tl::unexpected(a.error());
  auto b = load_side(second, options);
  if (!b) return tl::unexpected(b.error());
  return PairSearch(*a, *b, options).run();
}

}  // namespace parity
