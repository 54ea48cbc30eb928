#include "harness/probe/call_runner.hpp"

#include <fmt/format.h>

namespace parity {

namespace {

TensorSpec spec_of(const ProbePort& port, TensorSpec::Role role) {
  TensorSpec spec;
  spec.name = port.name;
  spec.dtype = port.dtype;
  spec.shape = port.shape;
  spec.strides = port.strides.empty() ? contiguous_strides(port.shape) : port.strides;
  spec.role = role;
  return spec;
}

}  // namespace

Result<CallRunner> CallRunner::load(Device& device, const Implementation& implementation,
                                    Attributes attributes, const std::vector<ProbePort>& inputs,
                                    const std::vector<ProbePort>& outputs) {
  CallRunner runner;
  Program& program = runner.program_;
  program.accumulate = implementation.accumulate;
  OpCall call{implementation.op, std::move(attributes), {}, {}};
  for (const ProbePort& port : inputs) {
    if (port.name.empty()) {
      call.inputs.push_back(no_tensor);
      continue;
    }
    const auto id = static_cast<TensorId>(program.tensors.size());
    program.tensors.push_back(spec_of(port, TensorSpec::Role::input));
    call.inputs.push_back(id);
    auto tensor = Tensor::create(port.dtype, port.shape, port.strides);
    if (!tensor) return tl::unexpected(tensor.error());
    runner.inputs_.emplace(id, *std::move(tensor));
  }
  for (const ProbePort& port : outputs) {
    call.outputs.push_back(static_cast<TensorId>(program.tensors.size()));
    program.tensors.push_back(spec_of(port, TensorSpec::Role::output));
  }
  program.calls.push_back(std::move(call));
  const Support support = device.supports(implementation, program.calls.front(), program);
  if (!support.legal()) return fail(ErrorKind::unsupported, support.reason);
  auto execution = Execution::load(device, program, {implementation.path}, runner.inputs_);
  if (!execution) return tl::unexpected(execution.error());
  runner.execution_ = std::make_shared<Execution>(*std::move(execution));
  return runner;
}

Tensor& CallRunner::input(std::size_t port) {
  return inputs_.at(call().inputs.at(port));
}

const Tensor* CallRunner::port(std::size_t index) const {
  const TensorId id = call().inputs.at(index);
  return id == no_tensor ? nullptr : &inputs_.at(id);
}

Result<std::vector<Tensor>> CallRunner::run() {
  if (auto ok = execution_->write(inputs_); !ok) return tl::unexpected(ok.error());
  auto result = execution_->run(ReadBack::outputs);
  if (!result) return tl::unexpected(result.error());
  std::vector<Tensor> outputs;
  for (const TensorId id : call().outputs) outputs.push_back(std::move(result->tensors.at(id)));
  return outputs;
}

}  // namespace parity
