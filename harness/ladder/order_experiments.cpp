#include "harness/ladder/order_experiments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "harness/ladder/call_judge.hpp"
#include "harness/ladder/isolated_call.hpp"
#include "harness/numerics/integer_matmul.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {

namespace {

/// Beyond this many multiply-adds the emulated ensemble costs more than it tells.
constexpr double most_ensemble_flops = 4e6;
/// Calls of composite programs beyond this many operations are left to rungs of their own.
constexpr double most_isolated_flops = 3e8;
constexpr int permutations = 2;

using Kind = Symmetry::Kind;
using Units = std::vector<std::int64_t>;

Units range(std::int64_t first, std::int64_t last) {
  Units units(static_cast<std::size_t>(last - first));
  std::iota(units.begin(), units.end(), first);
  return units;
}

/// The elements of several tensors of one dtype in a row.
Result<Tensor> in_a_row(const std::vector<Tensor>& parts) {
  std::int64_t elements = 0;
  for (const Tensor& part : parts) elements += part.elements();
  auto out = Tensor::create(parts.front().dtype(), {elements});
  if (!out) return out;
  std::int64_t at = 0;
  for (const Tensor& part : parts)
    for (std::int64_t i = 0; i < part.elements(); ++i) out->set_bits(at++, part.bits(i));
  return out;
}

/// One call on one path with the device's own inputs and results.
class CallExperiments {
 public:
  CallExperiments(const OrderSubject& subject, std::size_t index, const RunResult& run)
      : subject_(subject),
        call_(subject.program.calls[index]),
        op_(*subject.ops.find(call_.op)),
        implementation_(*subject.assignment.implementations[index]) {
    const FinishedCall finished{&subject.program, index,           &op_,
                                &implementation_, &subject.inputs, &run.tensors};
    ports_ = result_of(finished).inputs;
    for (const TensorId id : call_.outputs) results_.push_back(&run.tensors.at(id));
    std::vector<std::optional<Shape>> shapes;
    for (const Tensor* port : ports_)
      shapes.push_back(port == nullptr ? std::optional<Shape>() : port->shape());
    symmetries_ = op_.symmetries(call_.attributes, shapes);
    std::erase_if(symmetries_, [&](const Symmetry& s) { return units_along(s, ports_) < 2; });
  }

  /// What every declared symmetry shows; what a path does not take becomes a note. Not `everything`: permuted
  /// terms only, whose effect is the data's; the others are the path's and the shape's.
  Result<void> run(OrderEffects& effects, bool everything) {
    if (auto ok = prepare_bounds(); !ok) return ok;
    std::vector<DType> stores;
    for (const Tensor* result : results_) stores.push_back(result->dtype());
    IsolatedCall call(subject_.device, op_, call_, implementation_, ports_, std::move(stores));
    for (const Symmetry& symmetry : symmetries_) {
      const auto keep = [&](std::string what, Result<OrderExperiment> measured) -> Result<void> {
        if (measured) {
          measured->what = std::move(what);
          measured->along = symmetry.name;
          effects.experiments.push_back(*std::move(measured));
        } else if (measured.error().kind == ErrorKind::unsupported) {
          effects.notes.push_back(
              fmt::format("{}, {} {}: {}", call_.op, what, symmetry.name, measured.error().message));
        } else {
          return tl::unexpected(measured.error());
        }
        return {};
      };
      const bool reduction = symmetry.kind == Kind::reduction;
      if (!reduction && !everything) continue;
      if (auto ok = keep(reduction ? "permuted" : "moved", permuted(call, symmetry)); !ok) return ok;
      if (symmetry.kind == Kind::batch)
        if (auto ok = keep("alone", alone(call, symmetry)); !ok) return ok;
      for (const std::int64_t parts : {2, 4})
        if (everything && symmetry.additive && units_along(symmetry, ports_) >= parts)
          if (auto ok = keep(fmt::format("split {}", parts), split(call, symmetry, parts)); !ok) return ok;
    }
    return {};
  }

 private:
  Result<void> prepare_bounds() {
    ArithmeticModel model = implementation_.contract;
    model.precision.store = results_.front()->dtype();
    const bool made = subject_.program.calls.size() == 1 && !subject_.want.empty();
    if (made) {
      want_ = subject_.want;
    } else {
      auto want = op_.evaluate(*make_tracked_arithmetic(model), call_.attributes, ports_);
      if (!want) return tl::unexpected(want.error());
      want_ = *std::move(want);
    }
    for (const Tensor* result : results_) {
      model.precision.store = result->dtype();
      contracts_.push_back(derive_contract(model, result->dtype(), false));
    }
    return {};
  }

  /// Integers that are no sums (indices, counts) have no order.
  bool takes_part(std::size_t output) const {
    return is_float(results_[output]->dtype()) || sums_integers(implementation_.contract);
  }

  const PortAxis* axis_of_output(const Symmetry& symmetry, std::size_t output) const {
    for (const PortAxis& axis : symmetry.outputs)
      if (axis.port == output) return &axis;
    return nullptr;
  }

  /// The output whose results differ most; every entry holds one result of each output.
  /// `rounded_more`: the others went through the store more than once, which no bound of one store predicts.
  Result<OrderExperiment> widest(const std::vector<std::vector<Tensor>>& others,
                                 bool rounded_more = false) const {
    OrderExperiment worst{call_.op, implementation_.path, {}, {}, {}, {}};
    for (std::size_t output = 0; output < results_.size(); ++output) {
      if (!takes_part(output)) continue;
      std::vector<const Tensor*> results{results_[output]};
      for (const auto& other : others) results.push_back(&other[output]);
      const bool predicted = !rounded_more || !contracts_[output].store_rounds;
      auto spread = order_spread(results, predicted ? &want_[output] : nullptr, contracts_[output]);
      if (!spread) return tl::unexpected(spread.error());
      const auto rank = [](const OrderSpread& s) { return std::pair(s.max_range_ulp, s.differing); };
      if (!worst.port.empty() && rank(*spread) <= rank(worst.spread)) continue;
      worst.port = op_.outputs()[output].name;
      worst.spread = *std::move(spread);
    }
    return worst;
  }

  /// Terms, entries or places permuted, and the outputs that moved put back.
  Result<OrderExperiment> permuted(IsolatedCall& call, const Symmetry& symmetry) {
    const std::int64_t units = units_along(symmetry, ports_);
    std::vector<std::vector<Tensor>> results;
    for (int i = 0; i < permutations; ++i) {
      const Units order = shuffled_units(units, subject_.seed + static_cast<std::uint64_t>(i));
      const Units back = inverse_of(order);
      auto changed = take_inputs(symmetry, ports_, order);
      if (!changed) return tl::unexpected(changed.error());
      auto outputs = call.run(*changed);
      if (!outputs) return tl::unexpected(outputs.error());
      for (std::size_t output = 0; output < outputs->size(); ++output) {
        const PortAxis* axis = axis_of_output(symmetry, output);
        if (axis == nullptr) continue;
        auto restored = take_units((*outputs)[output], *axis, back);
        if (!restored) return tl::unexpected(restored.error());
        (*outputs)[output] = *std::move(restored);
      }
      results.push_back(*std::move(outputs));
    }
    return widest(results);
  }

  /// First, middle and last entry of a batch, each alone, against the same in the batch.
  Result<OrderExperiment> alone(IsolatedCall& call, const Symmetry& symmetry) {
    const std::int64_t units = units_along(symmetry, ports_);
    std::vector<std::vector<Tensor>> batched(results_.size()), single(results_.size());
    for (const std::int64_t unit : std::set<std::int64_t>{0, units / 2, units - 1}) {
      const Units one{unit};
      auto changed = take_inputs(symmetry, ports_, one);
      if (!changed) return tl::unexpected(changed.error());
      auto outputs = call.run(*changed);
      if (!outputs) return tl::unexpected(outputs.error());
      for (std::size_t output = 0; output < results_.size(); ++output) {
        const PortAxis* axis = axis_of_output(symmetry, output);
        if (axis == nullptr) continue;
        auto part = take_units(*results_[output], *axis, one);
        if (!part) return tl::unexpected(part.error());
        batched[output].push_back(*std::move(part));
        single[output].push_back(std::move((*outputs)[output]));
      }
    }
    OrderExperiment worst{call_.op, implementation_.path, {}, {}, {}, {}};
    for (std::size_t output = 0; output < results_.size(); ++output) {
      if (batched[output].empty() || !takes_part(output)) continue;
      const auto in_batch = in_a_row(batched[output]), by_itself = in_a_row(single[output]);
      if (!in_batch || !by_itself) return fail(ErrorKind::internal, "no memory for the entries");
      auto spread = order_spread({&*in_batch, &*by_itself}, nullptr, contracts_[output]);
      if (!spread) return tl::unexpected(spread.error());
      if (!worst.port.empty() && spread->max_range_ulp <= worst.spread.max_range_ulp) continue;
      worst.port = op_.outputs()[output].name;
      worst.spread = *std::move(spread);
    }
    return worst;
  }

  /// In fp32, or as the path's integers.
  double host_sum(double a, double b) const {
    if (sums_integers(implementation_.contract)) return wrapped_i32(a + b);
    return static_cast<double>(static_cast<float>(a + b));
  }

  /// The sum in parts, each a call of its own, added on the host: what a caller's split would give.
  Result<OrderExperiment> split(IsolatedCall& call, const Symmetry& symmetry, std::int64_t parts) {
    const std::int64_t units = units_along(symmetry, ports_);
    std::vector<Tensor> sums;
    for (std::int64_t part = 0; part < parts; ++part) {
      auto changed = take_inputs(symmetry, ports_, range(units * part / parts, units * (part + 1) / parts));
      if (!changed) return tl::unexpected(changed.error());
      auto outputs = call.run(*changed);
      if (!outputs) return tl::unexpected(outputs.error());
      if (part == 0) {
        sums = *std::move(outputs);
        continue;
      }
      for (std::size_t output = 0; output < sums.size(); ++output)
        for (std::int64_t i = 0; i < sums[output].elements(); ++i)
          sums[output].set_value(i, host_sum(sums[output].value(i), (*outputs)[output].value(i)));
    }
    std::vector<std::vector<Tensor>> results;
    results.push_back(std::move(sums));
    return widest(results, true);
  }

  const OrderSubject& subject_;
  const OpCall& call_;
  const Op& op_;
  const Implementation& implementation_;
  PortTensors ports_;
  std::vector<const Tensor*> results_;
  std::vector<Symmetry> symmetries_;
  std::vector<Value> want_;
  std::vector<Contract> contracts_;
};

/// Op, path, attributes and shapes of a call, when a passing case measures it; empty when it does not. Asks
/// the program alone, so that it is known of cases that ran elsewhere.
std::string measured_call(const OpTable& ops, const Program& program, const Assignment& assignment,
                          std::size_t index) {
  const OpCall& call = program.calls[index];
  const Op& op = *ops.find(call.op);
  for (const TensorId id : call.outputs)
    if (std::ranges::find(program.spec(id).shape, 0) != program.spec(id).shape.end()) return {};
  std::string key = fmt::format("{} {}", call.op, assignment.implementations[index]->path);
  std::vector<std::optional<Shape>> shapes;
  for (const TensorId id : call.inputs) {
    shapes.push_back(id == no_tensor ? std::optional<Shape>() : program.spec(id).shape);
    key += id == no_tensor
               ? " -"
               : fmt::format(" {}{}", name_of(program.spec(id).dtype), to_string(program.spec(id).shape));
  }
  for (const auto& attribute : call.attributes.all())
    key += std::visit([&](const auto& v) { return fmt::format(" {}={}", attribute.first, v); },
                      attribute.second);
  if (program.calls.size() == 1) return key;
  if (op.work(call, program).flops > most_isolated_flops) return {};
  const auto symmetries = op.symmetries(call.attributes, shapes);
  const bool reduces = std::ranges::any_of(symmetries, [&](const Symmetry& s) {
    return s.kind == Kind::reduction && units_along(s, std::span<const std::optional<Shape>>(shapes)) >= 2;
  });
  return reduces ? key : std::string();
}

/// What healthy devices with other orders would compute; Programs of one call.
Result<OrderSpread> ensemble(const OrderSubject& subject, const RunResult& run) {
  const OpCall& call = subject.program.calls.front();
  const Op& op = *subject.ops.find(call.op);
  const Tensor& result = run.tensors.at(call.outputs.front());
  if (sums_integers(subject.assignment.implementations.front()->contract))
    return fail(ErrorKind::unsupported, "sums of integers are the same in every order");
  if (op.work(call, subject.program).flops > most_ensemble_flops)
    return fail(ErrorKind::unsupported, fmt::format("left out above {:.0e} operations", most_ensemble_flops));
  PortTensors ports;
  for (const TensorId id : call.inputs) ports.push_back(id == no_tensor ? nullptr : &subject.inputs.at(id));
  using Order = SummationOrder::Kind;
  std::vector<Tensor> results;
  for (const SummationOrder& order :
       {SummationOrder{Order::sequential, 0, 0}, SummationOrder{Order::reversed, 0, 0},
        SummationOrder{Order::pairwise, 0, 0}, SummationOrder{Order::blocked, 32, 0},
        SummationOrder{Order::split_k, 4, 0}, SummationOrder{Order::strided, 8, 0},
        SummationOrder{Order::permuted, 0, subject.seed}}) {
    ArithmeticModel model = subject.assignment.implementations.front()->contract;
    model.accumulation = Accumulation{order, MultiplyAdd::fused, {}};
    model.precision.store = result.dtype();
    model.denormals = Denormals::preserve;
    const auto arithmetic = make_emulated_arithmetic(model);
    if (!arithmetic) return tl::unexpected(arithmetic.error());
    auto values = op.evaluate(**arithmetic, call.attributes, ports);
    if (!values) return tl::unexpected(values.error());
    auto tensor = Tensor::create(result.dtype(), result.shape());
    if (!tensor) return tl::unexpected(tensor.error());
    narrow((*arithmetic)->store(values->front(), result.dtype()).v, *tensor);
    results.push_back(*std::move(tensor));
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : results) pointers.push_back(&tensor);
  return order_spread(pointers, &subject.want.front(), subject.contract);
}

/// Run to run: the result that varies most stands for all, and each that varies is named.
void run_to_run(const OrderSubject& subject, const std::vector<RunResult>& runs, OrderEffects& effects) {
  std::vector<std::string> varying;
  for (std::size_t i = 0; i < subject.program.tensors.size(); ++i) {
    const TensorSpec& spec = subject.program.tensors[i];
    const auto id = static_cast<TensorId>(i);
    if (spec.role != TensorSpec::Role::output || spec.is_view()) continue;
    std::vector<const Tensor*> results;
    for (const RunResult& run : runs)
      if (const auto found = run.tensors.find(id); found != run.tensors.end())
        results.push_back(&found->second);
    if (results.size() < 2 || results.front()->elements() == 0) continue;
    auto spread = order_spread(results, nullptr, subject.contract);
    if (!spread) continue;
    if (!spread->bit_equal) varying.push_back(spec.name);
    if (!effects.run_to_run || spread->differing > effects.run_to_run->differing)
      effects.run_to_run = *spread;
  }
  if (!varying.empty())
    effects.notes.push_back(fmt::format("varies from run to run: {}", fmt::join(varying, ", ")));
}

/// The figures that stand for a case of one op: its widest reduction and its batch entries.
void summarise(OrderEffects& effects) {
  const auto widest_of = [&](std::string_view what, std::optional<OrderSpread>& place) {
    for (const OrderExperiment& e : effects.experiments)
      if (e.what == what && (!place || e.spread.rms_range_ulp > place->rms_range_ulp)) place = e.spread;
  };
  widest_of("permuted", effects.permutation);
  widest_of("alone", effects.batch_invariance);
}

}  // namespace

OrderEffects measure_order_effects(const OrderSubject& subject, const std::vector<RunResult>& runs,
                                   std::set<std::string>& measured) {
  OrderEffects effects;
  if (runs.size() > 1) run_to_run(subject, runs, effects);
  if (subject.sampled) {
    effects.notes.emplace_back("permutation and batch invariance: not measured where the result is sampled");
    return effects;
  }
  const bool single = subject.program.calls.size() == 1;
  for (std::size_t index = 0; index < subject.program.calls.size(); ++index) {
    const std::string key = measured_call(subject.ops, subject.program, subject.assignment, index);
    if (key.empty()) continue;
    const bool fresh = measured.insert(key).second;
    if (!single && !fresh) continue;
    CallExperiments call(subject, index, runs.front());
    if (auto ok = call.run(effects, fresh); !ok)
      effects.notes.push_back(fmt::format("{}: {}", subject.program.calls[index].op, ok.error().message));
  }
  if (!single) return effects;
  summarise(effects);
  if (subject.want.empty() || subject.want.front().size() == 0) {
    effects.notes.emplace_back("the result has no elements");
    return effects;
  }
  if (auto spread = ensemble(subject, runs.front()))
    effects.ensemble = *std::move(spread);
  else
    effects.notes.push_back(fmt::format("ensemble: {}", spread.error().message));
  return effects;
}

void note_measured(const OpTable& ops, const Program& program, const Assignment& assignment,
                   std::set<std::string>& measured) {
  for (std::size_t index = 0; index < program.calls.size(); ++index)
    if (std::string key = measured_call(ops, program, assignment, index); !key.empty())
      measured.insert(std::move(key));
}

}  // namespace parity
