#include "harness/ladder/isolated_call.hpp"

namespace parity {
namespace {

std::map<TensorId, Tensor> by_tensor(const OpCall& call, const PortTensors& ports) {
  std::map<TensorId, Tensor> inputs;
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (ports[i] != nullptr) inputs.insert_or_assign(call.inputs[i], *ports[i]);
  return inputs;
}

}  // namespace

IsolatedCall::IsolatedCall(Device& device, const Op& op, const OpCall& call,
                           const Implementation& implementation, PortTensors inputs,
                           std::vector<DType> stores)
    : device_(device),
      op_(op),
      call_(call),
      implementation_(implementation),
      inputs_(std::move(inputs)),
      stores_(std::move(stores)) {}

Result<IsolatedCall::Loaded> IsolatedCall::load(const PortTensors& ports) {
  Program program;
  program.accumulate = implementation_.accumulate;
  OpCall call = call_;
  call.inputs.clear();
  call.outputs.clear();
  std::vector<std::optional<Shape>> shapes;
  const auto add = [&](std::string_view name, DType dtype, const Shape& shape, const Strides& strides,
                       TensorSpec::Role role) {
    TensorSpec spec;
    spec.name = name;
    spec.dtype = dtype;
    spec.shape = shape;
    spec.strides = strides;
    spec.role = role;
    program.tensors.push_back(std::move(spec));
    return static_cast<TensorId>(program.tensors.size() - 1);
  };
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Tensor* tensor = ports[i];
    shapes.push_back(tensor == nullptr ? std::optional<Shape>() : tensor->shape());
    call.inputs.push_back(tensor == nullptr ? no_tensor
                                            : add(op_.inputs()[i].name, tensor->dtype(), tensor->shape(),
                                                  tensor->strides(), TensorSpec::Role::input));
  }
  const auto inferred = op_.infer(call.attributes, shapes);
  if (!inferred) return tl::unexpected(inferred.error());
  for (std::size_t i = 0; i < stores_.size(); ++i)
    call.outputs.push_back(add(op_.outputs()[i].name, stores_[i], (*inferred)[i],
                               contiguous_strides((*inferred)[i]), TensorSpec::Role::output));
  program.calls.push_back(std::move(call));
  const Support support = device_.supports(implementation_, program.calls.front(), program);
  if (!support.legal()) return fail(ErrorKind::unsupported, support.reason);
  auto execution =
      Execution::load(device_, program, {implementation_.path}, by_tensor(program.calls.front(), ports));
  if (!execution) return tl::unexpected(execution.error());
  return Loaded{std::move(program), *std::move(execution)};
}

Result<std::vector<Tensor>> IsolatedCall::run(Loaded& loaded) {
  auto run = loaded.execution.run();
  if (!run) return tl::unexpected(run.error());
  std::vector<Tensor> outputs;
  for (const TensorId id : loaded.program.calls.front().outputs)
    outputs.push_back(std::move(run->tensors.at(id)));
  return outputs;
}

Result<std::vector<Tensor>> IsolatedCall::run(const std::map<std::size_t, Tensor>& changed) {
  PortTensors ports = inputs_;
  bool same = true;
  for (const auto& [port, tensor] : changed) {
    same = same && tensor.shape() == ports[port]->shape() && tensor.strides() == ports[port]->strides();
    ports[port] = &tensor;
  }
  if (!same) {
    auto loaded = load(ports);
    if (!loaded) return tl::unexpected(loaded.error());
    return run(*loaded);
  }
  if (!same_shapes_) {
    auto loaded = load(ports);
    if (!loaded) return tl::unexpected(loaded.error());
    same_shapes_.emplace(*std::move(loaded));
  } else if (auto ok = same_shapes_->execution.write(by_tensor(same_shapes_->program.calls.front(), ports));
             !ok) {
    return tl::unexpected(ok.error());
  }
  return run(*same_shapes_);
}

}  // namespace parity
