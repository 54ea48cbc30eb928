#include "harness/ladder/order_experiments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/tensor/convert.hpp"

namespace parity {

namespace {

/// Beyond this many multiply-adds the emulated ensemble costs more than it tells.
constexpr double most_ensemble_flops = 4e6;
constexpr int permutations = 2;

PortTensors ports_of(const OpCall& call, const std::map<TensorId, Tensor>& inputs) {
  PortTensors ports;
  for (const TensorId id : call.inputs) ports.push_back(id == no_tensor ? nullptr : &inputs.at(id));
  return ports;
}

std::map<TensorId, Tensor> by_id(const OpCall& call, std::vector<Tensor> tensors) {
  std::map<TensorId, Tensor> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i] != no_tensor) inputs.insert_or_assign(call.inputs[i], std::move(tensors[i]));
  return inputs;
}

/// One case, one call, one output: what the experiments work on.
class Experiments {
 public:
  Experiments(const OrderSubject& subject, Execution& execution, const RunResult& first)
      : subject_(subject),
        execution_(execution),
        call_(subject.program.calls.front()),
        op_(*subject.ops.find(call_.op)),
        ports_(ports_of(call_, subject.inputs)),
        result_(first.tensors.at(call_.outputs.front())) {
    ArithmeticModel model = subject.implementation.contract;
    model.precision.store = result_.dtype();
    store_rounds_ = format_of(result_.dtype()).precision < format_of(model.precision.scratch).precision;
    const auto tracked = make_tracked_arithmetic(model);
    if (auto values = op_.evaluate(*tracked, call_.attributes, ports_))
      predicted_ = std::move(values->front());
  }

  const Value* predicted() const { return predicted_.size() == result_.elements() ? &predicted_ : nullptr; }
  bool store_rounds() const { return store_rounds_; }

  /// The same sums with their terms in another order, on the device.
  std::optional<Spread> permutation(std::vector<std::string>& notes) {
    Spread spread;
    spread.results = 1;
    for (int i = 0; i < permutations; ++i) {
      auto permuted =
          op_.permute_reduction(call_.attributes, ports_, subject_.seed + static_cast<std::uint64_t>(i));
      if (!permuted) return std::nullopt;
      auto run = run_with(by_id(call_, *std::move(permuted)));
      if (!run) {
        notes.push_back("permutation: " + run.error().message);
        return std::nullopt;
      }
      add_to_spread(spread, result_, run->tensors.at(call_.outputs.front()), predicted(), store_rounds_);
      ++spread.results;
    }
    return spread;
  }

  /// First, middle and last row, each alone, against the row in its batch.
  std::optional<Spread> batch_invariance(std::vector<std::string>& notes) {
    if (result_.shape().size() < 2) return std::nullopt;
    const std::int64_t rows = result_.shape()[result_.shape().size() - 2];
    if (rows < 2) return std::nullopt;
    Spread spread;
    spread.results = 1;
    for (const std::int64_t row : std::set<std::int64_t>{0, rows / 2, rows - 1}) {
      auto alone = run_row(row);
      if (!alone) {
        notes.push_back(fmt::format("batch invariance: {}", alone.error().message));
        return std::nullopt;
      }
      auto batched = row_of(result_, row);
      if (!batched) return std::nullopt;
      add_to_spread(spread, *batched, *alone, nullptr, store_rounds_);
      ++spread.results;
    }
    return spread;
  }

  /// What healthy devices with other orders would compute.
  std::optional<Spread> ensemble(std::vector<std::string>& notes) const {
    const Work work = op_.work(call_, subject_.program);
    if (work.flops > most_ensemble_flops) {
      notes.push_back(fmt::format("ensemble: left out above {:.0e} operations", most_ensemble_flops));
      return std::nullopt;
    }
    using Kind = SummationOrder::Kind;
    Spread spread;
    std::optional<Tensor> first;
    for (const SummationOrder order :
         {SummationOrder{Kind::sequential}, SummationOrder{Kind::reversed}, SummationOrder{Kind::pairwise},
          SummationOrder{Kind::blocked, 32}, SummationOrder{Kind::split_k, 4},
          SummationOrder{Kind::strided, 8}, SummationOrder{Kind::permuted, 0, subject_.seed}}) {
      ArithmeticModel model = subject_.implementation.contract;
      model.accumulation = Accumulation{order, MultiplyAdd::fused, {}};
      model.precision.store = result_.dtype();
      model.denormals = Denormals::preserve;
      const auto arithmetic = make_emulated_arithmetic(model);
      if (!arithmetic) return std::nullopt;
      auto values = op_.evaluate(**arithmetic, call_.attributes, ports_);
      auto tensor = Tensor::create(result_.dtype(), result_.shape());
      if (!values || !tensor) return std::nullopt;
      narrow((*arithmetic)->store(values->front(), result_.dtype()).v, *tensor);
      if (first)
        add_to_spread(spread, *first, *tensor, predicted(), store_rounds_);
      else
        first = *std::move(tensor);
      ++spread.results;
    }
    return spread;
  }

 private:
  Result<RunResult> run_with(const std::map<TensorId, Tensor>& inputs) {
    if (auto ok = execution_.write(inputs); !ok) return tl::unexpected(ok.error());
    auto run = execution_.run();
    if (auto ok = execution_.write(subject_.inputs); !ok) return tl::unexpected(ok.error());
    return run;
  }

  Result<Tensor> run_row(std::int64_t row) {
    auto restricted = op_.restrict_to(call_.attributes, ports_, std::vector{row}, {});
    if (!restricted) return fail(ErrorKind::unsupported, "the op has no independent rows");
    Program program = subject_.program;
    std::map<TensorId, Tensor> inputs = by_id(call_, *std::move(restricted));
    std::vector<std::optional<Shape>> shapes;
    for (const TensorId id : call_.inputs) {
      shapes.push_back(id == no_tensor ? std::optional<Shape>() : inputs.at(id).shape());
      if (id == no_tensor) continue;
      TensorSpec& spec = program.tensors[static_cast<std::size_t>(id)];
      spec.shape = inputs.at(id).shape();
      spec.strides = inputs.at(id).strides();
    }
    auto inferred = op_.infer(call_.attributes, shapes);
    if (!inferred) return tl::unexpected(inferred.error());
    TensorSpec& output = program.tensors[static_cast<std::size_t>(call_.outputs.front())];
    output.shape = inferred->front();
    output.strides = contiguous_strides(output.shape);
    const Support support = subject_.device.supports(subject_.implementation, call_, program);
    if (!support.legal()) return fail(ErrorKind::unsupported, support.reason);
    auto execution = Execution::load(subject_.device, program, subject_.paths, inputs);
    if (!execution) return tl::unexpected(execution.error());
    auto run = execution->run();
    if (!run) return tl::unexpected(run.error());
    return std::move(run->tensors.at(call_.outputs.front()));
  }

  static Result<Tensor> row_of(const Tensor& tensor, std::int64_t row) {
    Shape shape = tensor.shape();
    const std::int64_t rows = shape[shape.size() - 2], cols = shape.back();
    shape[shape.size() - 2] = 1;
    auto out = Tensor::create(tensor.dtype(), shape);
    if (!out) return out;
    for (std::int64_t i = 0; i < out->elements(); ++i)
      out->set_bits(i, tensor.bits((i / cols * rows + row) * cols + i % cols));
    return out;
  }

  const OrderSubject& subject_;
  Execution& execution_;
  const OpCall& call_;
  const Op& op_;
  PortTensors ports_;
  const Tensor& result_;
  Value predicted_;
  bool store_rounds_ = false;
};

}  // namespace

OrderEffects measure_order_effects(const OrderSubject& subject, Execution& execution,
                                   const std::vector<RunResult>& runs) {
  OrderEffects effects;
  const TensorId output = subject.program.calls.back().outputs.front();
  if (runs.size() > 1) {
    Spread spread;
    spread.results = static_cast<std::int64_t>(runs.size());
    for (std::size_t i = 1; i < runs.size(); ++i)
      add_to_spread(spread, runs.front().tensors.at(output), runs[i].tensors.at(output), nullptr, false);
    effects.run_to_run = spread;
  }
  if (subject.program.calls.size() != 1) {
    effects.notes.emplace_back("permutation, batch invariance, ensemble: only for a single op");
    return effects;
  }
  if (runs.front().tensors.at(output).elements() == 0) return effects;
  Experiments experiments(subject, execution, runs.front());
  effects.permutation = experiments.permutation(effects.notes);
  effects.batch_invariance = experiments.batch_invariance(effects.notes);
  effects.ensemble = experiments.ensemble(effects.notes);
  return effects;
}

}  // namespace parity
