#include "backends/cuda/op_testing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/ladder/execution.hpp"
#include "harness/ladder/replay.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::cuda {

bool has_unknown_bits(std::string_view op) {
  static const std::set<std::string_view> with_functions{"softcap",
                                                         "gru_gate",
                                                         "gru_gates",
                                                         "rms_norm",
                                                         "attention",
                                                         "attention_backward",
                                                         "softmax_cross_entropy",
                                                         "softmax_cross_entropy_backward",
                                                         "xsa",
                                                         "xsa_backward"};
  return with_functions.contains(op);
}

namespace {

Contract contract_of(const ArithmeticModel& model, DType store) {
  Contract contract;
  contract.store = store;
  contract.order_known = model.accumulation.has_value();
  contract.store_rounds = format_of(store).precision < format_of(model.precision.scratch).precision;
  return contract;
}

/// Elements of an output's root that no view reaches must still hold the poison.
std::string stray_writes(const Program& program, const RunResult& run) {
  for (const TensorSpec& view : program.tensors) {
    if (!view.is_view() || view.role != TensorSpec::Role::output) continue;
    const Tensor& root = run.tensors.at(view.view_of);
    const Tensor layout = *Tensor::create(view.dtype, view.shape, view.strides);
    std::set<std::int64_t> inside;
    for (std::int64_t i = 0; i < layout.elements(); ++i)
      inside.insert(view.view_offset + layout.offset_of(i));
    const std::uint64_t untouched = poison_bits(view.dtype, Poison::unwritten);
    for (std::int64_t i = 0; i < root.elements(); ++i)
      if (!inside.contains(i) && root.bits(i) != untouched)
        return fmt::format("element {} beside the view '{}' was written", i - view.view_offset, view.name);
  }
  return {};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (a.bits(i) != b.bits(i)) return false;
  return true;
}

}  // namespace

std::string OpTester::fault_of(const OpCase& c, const Implementation& implementation,
                               const Placement& placement, std::uint64_t seed) {
  const Op* const op = ops_.find(c.op);
  if (op == nullptr) return "no such op";
  const auto built = build(c, *op, placement, seed);
  if (!built) return built.error().message;
  const OpCall& call = built->program.calls[0];
  const Support support = device_.supports(implementation, call, built->program);
  if (!support.legal()) return "not taken: " + support.reason;

  auto execution = Execution::load(device_, built->program, {implementation.path}, built->inputs);
  if (!execution) return execution.error().message;
  const auto run = execution->run();
  if (!run) return run.error().message;
  const auto again = execution->run();
  if (!again) return again.error().message;
  const auto damage = execution->damage(*run);
  if (!damage) return damage.error().message;
  if (!damage->empty()) return fmt::format("{} damaged outside its elements", damage->front().tensor);
  const auto modified = execution->modified_inputs();
  if (!modified) return modified.error().message;
  if (!modified->empty()) return fmt::format("inputs modified: {}", fmt::join(*modified, ", "));
  if (const std::string stray = stray_writes(built->program, *run); !stray.empty()) return stray;

  ArithmeticModel model = implementation.contract;
  model.precision.store = c.store;
  PortTensors ports;
  for (const TensorId id : call.inputs) ports.push_back(id == no_tensor ? nullptr : &built->inputs.at(id));
  const auto tracked = make_tracked_arithmetic(model);
  const auto want = op->evaluate(*tracked, call.attributes, ports);
  if (!want) return want.error().message;

  for (std::size_t output = 0; output < call.outputs.size(); ++output) {
    const Tensor& got = run->tensors.at(call.outputs[output]);
    const std::string_view name = op->outputs()[output].name;
    if (implementation.knowledge == OrderKnowledge::declared &&
        !same_bits(got, again->tensors.at(call.outputs[output])))
      return fmt::format("{}: two runs differ", name);
    ReplayResult replayed;
    if (!implementation.replays.empty() && got.elements() > 0) {
      const CallResult result{op, &call.attributes, ports, output, &got};
      auto replay_result = replay(result, implementation.replays.front(), {});
      if (replay_result) {
        replayed = *std::move(replay_result);
        replayed.confirmed = true;
        ++replayed_;
      } else if (!has_unknown_bits(c.op)) {
        return fmt::format("{}: not replayed: {}", name, replay_result.error().message);
      }
    }
    Contract contract = contract_of(model, c.store);
    contract.exact = !(*want)[output].tracked();  // nothing on the way rounds but the store
    const Judgement judgement = judge(got, (*want)[output], contract, replayed);
    if (replayed.attempted && !replayed.all_equal())
      return fmt::format("{}: {} of {} bits are those of {}", name, replayed.equal, replayed.compared,
                         replayed.model);
    if (judgement.verdict != Verdict::pass)
      return fmt::format("{}: {}: {}", name, name_of(judgement.verdict), fmt::join(judgement.reasons, "; "));
  }
  return {};
}

}  // namespace parity::cuda
