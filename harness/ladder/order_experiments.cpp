#include "harness/ladder/order_experiments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
        result_(first.tensors.at(call_.outputs.front())) {}

  /// The same sums with their terms in another order, on the device.
  Result<OrderSpread> permutation() {
    std::vector<Tensor> results;
    for (int i = 0; i < permutations; ++i) {
      auto permuted =
          op_.permute_reduction(call_.attributes, ports_, subject_.seed + static_cast<std::uint64_t>(i));
      if (!permuted) return fail(ErrorKind::unsupported, "the op has no reduction axis");
      auto run = run_with(by_id(call_, *std::move(permuted)));
      if (!run) return tl::unexpected(run.error());
      results.push_back(std::move(run->tensors.at(call_.outputs.front())));
    }
    return spread_of(results);
  }

  /// First, middle and last row, each alone, against the rows in their batch.
  Result<OrderSpread> batch_invariance() {
    const std::int64_t rows = result_.shape().size() < 2 ? 0 : result_.shape()[result_.shape().size() - 2];
    if (rows < 2) return fail(ErrorKind::unsupported, "there is only one row");
    const std::set<std::int64_t> chosen{0, rows / 2, rows - 1};
    std::vector<Tensor> batched, alone;
    for (const std::int64_t row : chosen) {
      auto single = run_row(row);
      if (!single) return tl::unexpected(single.error());
      auto part = row_of(result_, row);
      if (!part) return tl::unexpected(part.error());
      alone.push_back(*std::move(single));
      batched.push_back(*std::move(part));
    }
    auto in_batch = concatenate(batched), on_their_own = concatenate(alone);
    if (!in_batch || !on_their_own) return fail(ErrorKind::internal, "no memory for the rows");
    return order_spread({&*in_batch, &*on_their_own}, nullptr, subject_.contract);
  }

  /// What healthy devices with other orders would compute.
  Result<OrderSpread> ensemble() const {
    const Work work = op_.work(call_, subject_.program);
    if (work.flops > most_ensemble_flops)
      return fail(ErrorKind::unsupported,
                  fmt::format("left out above {:.0e} operations", most_ensemble_flops));
    using Kind = SummationOrder::Kind;
    std::vector<Tensor> results;
    for (const SummationOrder& order :
         {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::reversed, 0, 0},
          SummationOrder{Kind::pairwise, 0, 0}, SummationOrder{Kind::blocked, 32, 0},
          SummationOrder{Kind::split_k, 4, 0}, SummationOrder{Kind::strided, 8, 0},
          SummationOrder{Kind::permuted, 0, subject_.seed}}) {
      ArithmeticModel model = subject_.implementation.contract;
      model.accumulation = Accumulation{order, MultiplyAdd::fused, {}};
      model.precision.store = result_.dtype();
      model.denormals = Denormals::preserve;
      const auto arithmetic = make_emulated_arithmetic(model);
      if (!arithmetic) return tl::unexpected(arithmetic.error());
      auto values = op_.evaluate(**arithmetic, call_.attributes, ports_);
      if (!values) return tl::unexpected(values.error());
      auto tensor = Tensor::create(result_.dtype(), result_.shape());
      if (!tensor) return tl::unexpected(tensor.error());
      narrow((*arithmetic)->store(values->front(), result_.dtype()).v, *tensor);
      results.push_back(*std::move(tensor));
    }
    std::vector<const Tensor*> pointers;
    for (const Tensor& tensor : results) pointers.push_back(&tensor);
    return order_spread(pointers, &subject_.want, subject_.contract);
  }

 private:
  /// The spread of the first run and `others`.
  Result<OrderSpread> spread_of(const std::vector<Tensor>& others) const {
    std::vector<const Tensor*> pointers{&result_};
    for (const Tensor& tensor : others) pointers.push_back(&tensor);
    return order_spread(pointers, &subject_.want, subject_.contract);
  }

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

  /// The elements of equally shaped tensors, one tensor a row.
  static Result<Tensor> concatenate(const std::vector<Tensor>& parts) {
    const std::int64_t width = parts.front().elements();
    auto out = Tensor::create(parts.front().dtype(), {static_cast<std::int64_t>(parts.size()), width});
    if (!out) return out;
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::int64_t i = 0; i < width; ++i)
        out->set_bits(static_cast<std::int64_t>(p) * width + i, parts[p].bits(i));
    return out;
  }

  const OrderSubject& subject_;
  Execution& execution_;
  const OpCall& call_;
  const Op& op_;
  PortTensors ports_;
  const Tensor& result_;
};

/// Keeps what was measured, or says why it was not.
void keep(std::optional<OrderSpread>& place, const char* what, Result<OrderSpread> measured,
          std::vector<std::string>& notes) {
  if (measured)
    place = *std::move(measured);
  else
    notes.push_back(fmt::format("{}: {}", what, measured.error().message));
}

/// Run to run of a composite program: the result that varies most stands for all, and each that varies is
/// named.
void results_run_to_run(const OrderSubject& subject, const std::vector<RunResult>& runs,
                        OrderEffects& effects) {
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

}  // namespace

OrderEffects measure_order_effects(const OrderSubject& subject, Execution& execution,
                                   const std::vector<RunResult>& runs) {
  OrderEffects effects;
  if (subject.program.calls.size() != 1) {
    effects.notes.emplace_back("permutation, batch invariance, ensemble: only for a single op");
    if (runs.size() > 1) results_run_to_run(subject, runs, effects);
    return effects;
  }
  const TensorId output = subject.program.calls.back().outputs.front();
  if (runs.front().tensors.at(output).elements() == 0) {
    effects.notes.emplace_back("the result has no elements");
    return effects;
  }
  if (runs.size() > 1) {
    std::vector<const Tensor*> results;
    for (const RunResult& run : runs) results.push_back(&run.tensors.at(output));
    keep(effects.run_to_run, "run to run", order_spread(results, nullptr, subject.contract), effects.notes);
  }
  if (subject.want.size() == 0) {
    effects.notes.emplace_back(
        "permutation and batch invariance: not measured "
        "where the result is sampled");
    return effects;
  }
  Experiments experiments(subject, execution, runs.front());
  keep(effects.permutation, "permutation", experiments.permutation(), effects.notes);
  keep(effects.batch_invariance, "batch invariance", experiments.batch_invariance(), effects.notes);
  keep(effects.ensemble, "ensemble", experiments.ensemble(), effects.notes);
  return effects;
}

}  // namespace parity
