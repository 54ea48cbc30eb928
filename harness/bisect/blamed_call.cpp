#include "harness/bisect/blamed_call.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/ladder/isolated_call.hpp"
#include "harness/ladder/reference_check.hpp"

namespace parity {
namespace {

PortTensors traced_ports(const std::vector<TensorId>& ids, const std::map<TensorId, Tensor>& tensors) {
  PortTensors ports;
  for (const TensorId id : ids) ports.push_back(id == no_tensor ? nullptr : &tensors.at(id));
  return ports;
}

/// What the call did when run by itself: the same bits, or something else.
Result<std::string> run_alone(TraceSession& session, const BisectTarget& target, const TracePoint& point,
                              const std::map<TensorId, Tensor>& tensors) {
  const OpCall& call = session.program().calls[point.call];
  // A wrong stride shows where there are strides.
  const auto stored = session.tensors(ids_of(call), true);
  if (!stored) return tl::unexpected(stored.error());
  std::vector<DType> stores;
  for (const TensorId id : call.outputs) stores.push_back(session.program().spec(id).dtype);
  IsolatedCall alone(target.device, *target.ops.find(call.op), call,
                     *session.assignment().implementations[point.call], traced_ports(call.inputs, *stored),
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

}  // namespace

std::set<TensorId> ids_of(const OpCall& call) {
  std::set<TensorId> ids;
  for (const auto* ports : {&call.inputs, &call.outputs})
    for (const TensorId id : *ports)
      if (id != no_tensor) ids.insert(id);
  return ids;
}

CallResult traced_result(const TraceSession& session, const BisectTarget& target, std::size_t index,
                         std::size_t port, const std::map<TensorId, Tensor>& tensors) {
  const OpCall& call = session.program().calls[index];
  return {target.ops.find(call.op), &call.attributes, traced_ports(call.inputs, tensors), port,
          &tensors.at(call.outputs[port])};
}

Result<std::vector<OutputRecord>> judge_traced(const TraceSession& session, const BisectTarget& target,
                                               Confirmations& confirmations, std::size_t index,
                                               const std::map<TensorId, Tensor>& tensors, bool users_own,
                                               std::vector<Value>* reference) {
  const Implementation& implementation = *session.assignment().implementations[index];
  FinishedCall call{&session.program(), index,    target.ops.find(session.program().calls[index].op),
                    &implementation,    &tensors, &tensors};
  call.exact = !users_own && bits_are_contract(*target.stage(), target.c, implementation);
  call.power = false;
  call.seed = target.c.seed;
  return judge_call(call, confirmations, reference);
}

bool blames(const Judgement& judgement) {
  return judgement.verdict != Verdict::pass && judgement.verdict != Verdict::untrusted;
}

Producer blamed_call(TraceSession& session, const BisectTarget& target, const TracePoint& point,
                     ExaminedCall examined, const std::map<TensorId, Tensor>& tensors) {
  const OpCall& call = session.program().calls[point.call];
  const Op& op = *target.ops.find(call.op);
  const Implementation& implementation = *session.assignment().implementations[point.call];
  const TensorSpec& spec = session.program().spec(point.tensor);
  Producer p;
  p.call = point.call, p.step = session.step();
  p.op = call.op, p.path = implementation.path;
  p.precision = fmt::format("{} in, {} accumulated, {} stored", name_of(implementation.input),
                            name_of(implementation.accumulate), name_of(spec.dtype));
  p.port = op.outputs()[point.port].name, p.tensor = spec.name;
  p.place = place_of(spec.name);
  p.index = place_in(spec.shape, examined.element);
  p.elements = tensors.at(point.tensor).elements();
  const ReferenceCheck check =
      check_reference(target.ops, traced_result(session, target, point.call, point.port, tensors),
                      implementation, op.work(call, session.program()).flops / 2);
  if (!check.contradiction.empty()) examined.cause = {CauseKind::reference, check.contradiction};
  p.checks = check.made;
  p.examined = std::move(examined);
  p.title = session.program().spec(call.outputs[0]).name;
  p.kind = call.op, p.accumulate = implementation.accumulate;
  p.attributes = call.attributes;
  for (std::size_t port = 0; port < call.inputs.size(); ++port) {
    const TensorId id = call.inputs[port];
    if (id == no_tensor) continue;
    const Tensor& tensor = tensors.at(id);
    p.inputs.push_back({std::string(op.inputs()[port].name), session.program().spec(id).name, tensor.dtype(),
                        scan_tensor(tensor)});
    p.tensors.emplace(op.inputs()[port].name, tensor);
  }
  for (std::size_t port = 0; port < call.outputs.size(); ++port)
    p.tensors.emplace(fmt::format("got:{}", op.outputs()[port].name), tensors.at(call.outputs[port]));
  auto alone = run_alone(session, target, point, tensors);
  p.alone = alone ? *alone : "it could not be run by itself: " + alone.error().message;
  return p;
}

}  // namespace parity
