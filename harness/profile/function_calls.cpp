#include "harness/profile/function_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/probe/call_runner.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {

namespace {

TensorSpec argument_spec(std::string name, DType format, std::int64_t size, TensorSpec::Role role) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.dtype = format;
  spec.shape = {size};
  spec.strides = {1};
  spec.role = role;
  return spec;
}

void store_numbers(std::span<const float> numbers, Tensor& tensor) {
  if (tensor.dtype() == DType::f32) {
    std::memcpy(tensor.bytes().data(), numbers.data(), numbers.size_bytes());
    return;
  }
  std::ranges::transform(numbers, tensor.as<std::uint16_t>().begin(), [](float x) { return f32_to_f16(x); });
}

}  // namespace

Result<FunctionCalls> FunctionCalls::load(Device& device, const Implementation& implementation,
                                          const std::vector<DeviceFunction>& functions, std::int64_t size) {
  FunctionCalls calls;
  calls.size_ = size;
  calls.format_ = implementation.stores.front();
  Program& program = calls.program_;
  program.accumulate = implementation.accumulate;
  program.tensors.push_back(argument_spec("X", calls.format_, size, TensorSpec::Role::input));
  program.tensors.push_back(argument_spec("partner", calls.format_, size, TensorSpec::Role::input));
  for (const DeviceFunction function : functions) {
    OpCall call{std::string(device_function_op), {}, {0, no_tensor, no_tensor}, {}};
    call.attributes.set("function", std::string(name_of(function)));
    if (inputs_of(function) == 2) call.inputs = {1, 0, no_tensor};
    call.outputs = {static_cast<TensorId>(program.tensors.size())};
    program.tensors.push_back(argument_spec(fmt::format("{}(X)", name_of(function)), calls.format_, size,
                                            TensorSpec::Role::output));
    const Support support = device.supports(implementation, call, program);
    if (!support.legal()) return fail(ErrorKind::unsupported, support.reason);
    program.calls.push_back(std::move(call));
  }
  auto session = device.load(program, std::vector(functions.size(), implementation.path));
  if (!session) return tl::unexpected(session.error());
  calls.session_ = *std::move(session);
  auto staging = Tensor::create(calls.format_, {size});
  if (!staging) return tl::unexpected(staging.error());
  calls.staging_ = *std::move(staging);
  return calls;
}

Result<void> FunctionCalls::write(std::span<const float> arguments, std::span<const float> partners) {
  store_numbers(arguments, staging_);
  if (auto ok = session_->write(0, staging_); !ok) return ok;
  store_numbers(partners, staging_);
  return session_->write(1, staging_);
}

Result<void> FunctionCalls::run() {
  if (auto timing = session_->run(); !timing) return tl::unexpected(timing.error());
  return {};
}

Result<Tensor> FunctionCalls::read(std::size_t index) {
  return session_->read(program_.calls.at(index).outputs.front());
}

Result<SupportedFunctions> supported_functions(Device& device, const Implementation& implementation,
                                               std::span<const DeviceFunction> functions) {
  SupportedFunctions found;
  for (const DeviceFunction function : functions) {
    auto calls = FunctionCalls::load(device, implementation, {function}, 64);
    Result<void> ran;
    if (calls) {
      const std::vector<float> ones(64, 1.0f);
      ran = calls->write(ones, ones);
      if (ran) ran = calls->run();
    } else {
      ran = tl::unexpected(calls.error());
    }
    if (ran) {
      found.functions.push_back(function);
      continue;
    }
    if (ran.error().kind != ErrorKind::unsupported) return tl::unexpected(ran.error());
    found.absent.push_back({function, ran.error().message});
  }
  return found;
}

Result<std::vector<std::uint32_t>> ask_function(Device& device, const Implementation& implementation,
                                                DeviceFunction function, std::span<const std::uint32_t> a,
                                                std::span<const std::uint32_t> b,
                                                std::span<const std::uint32_t> c) {
  const DType format = implementation.stores.front();
  const auto size = std::ssize(a);
  const auto ports = static_cast<std::size_t>(inputs_of(function));
  std::vector<ProbePort> inputs(3);
  constexpr const char* names[] = {"A", "B", "C"};
  for (std::size_t port = 0; port < ports; ++port) inputs[port] = {names[port], format, {size}};
  auto runner = CallRunner::load(device, implementation, {{"function", std::string(name_of(function))}},
                                 inputs, {{"R", format, {size}}});
  if (!runner) return tl::unexpected(runner.error());
  const std::span<const std::uint32_t> given[] = {a, b, c};
  for (std::size_t port = 0; port < ports; ++port)
    for (std::size_t i = 0; i < given[port].size(); ++i)
      runner->input(port).set_bits(static_cast<std::int64_t>(i), given[port][i]);
  const auto outputs = runner->run();
  if (!outputs) return tl::unexpected(outputs.error());
  std::vector<std::uint32_t> results;
  for (std::int64_t i = 0; i < size; ++i)
    results.push_back(static_cast<std::uint32_t>(outputs->front().bits(i)));
  return results;
}

}  // namespace parity
