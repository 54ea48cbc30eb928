// device_function on the host: what the emulated arithmetic has, it computes; the rest is fp32 of this
// processor.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/device_function.hpp"
#include "harness/numerics/arithmetic.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {

namespace {

std::optional<Function> emulated_function(DeviceFunction function) {
  switch (function) {
    case DeviceFunction::sqrt:
      return Function::sqrt;
    case DeviceFunction::inverse_sqrt:
      return Function::inverse_sqrt;
    case DeviceFunction::exp:
      return Function::exp;
    case DeviceFunction::log:
      return Function::log;
    case DeviceFunction::tanh:
      return Function::tanh;
    case DeviceFunction::sigmoid:
      return Function::sigmoid;
    default:
      return std::nullopt;
  }
}

/// Of the processor, rounded to fp32 from fp64 where the language offers no better.
float host_function(DeviceFunction function, float a, float b, float c) {
  switch (function) {
    case DeviceFunction::fma:
      return std::fma(a, b, c);
    case DeviceFunction::mul_add:
    case DeviceFunction::mul_add_free:
      return a * b + c;
    case DeviceFunction::min:
      return std::fmin(a, b);
    case DeviceFunction::max:
      return std::fmax(a, b);
    case DeviceFunction::sin:
      return static_cast<float>(std::sin(static_cast<double>(a)));
    case DeviceFunction::cos:
      return static_cast<float>(std::cos(static_cast<double>(a)));
    case DeviceFunction::to_f16:
      return f16_to_f32(f32_to_f16(a));
    case DeviceFunction::to_bf16:
      return bf16_to_f32(f32_to_bf16(a));
    default:
      return a;
  }
}

Result<Value> emulate(Arithmetic& arithmetic, DeviceFunction function, const Tensor& a, const Tensor* b) {
  const Value x = arithmetic.load(a);
  if (const auto known = emulated_function(function)) return arithmetic.apply(*known, x);
  if (b == nullptr)
    return bad_input(fmt::format("device_function: {} reads port B, which is empty", name_of(function)));
  const Value y = arithmetic.load(*b);
  if (function == DeviceFunction::add) return arithmetic.add(x, y);
  if (function == DeviceFunction::mul) return arithmetic.mul(x, y);
  return arithmetic.div(x, y);
}

bool is_emulated(DeviceFunction function) {
  return emulated_function(function) || function == DeviceFunction::add || function == DeviceFunction::mul ||
         function == DeviceFunction::div;
}

Result<void> run_function(const ArithmeticModel& model, const OpCall& call, HostMemory& memory) {
  const std::string name = call.attributes.text("function");
  const auto function = parse_device_function(name);
  if (!function) return bad_input(fmt::format("device_function: no function is called '{}'", name));
  if (function == DeviceFunction::tanh_builtin || function == DeviceFunction::inverse_sqrt_builtin)
    return fail(ErrorKind::unsupported, fmt::format("{}: the emulated arithmetic has one of its own", name));
  std::vector<Tensor> ports;
  for (const TensorId id : call.inputs) {
    if (id == no_tensor) continue;
    auto tensor = memory.tensor(id);
    if (!tensor) return tl::unexpected(tensor.error());
    ports.push_back(*std::move(tensor));
  }
  if (ports.size() < static_cast<std::size_t>(inputs_of(*function)))
    return bad_input(fmt::format("device_function: {} reads {} ports, {} are there", name,
                                 inputs_of(*function), ports.size()));
  auto result = memory.tensor(call.outputs.at(0));
  if (!result) return tl::unexpected(result.error());
  if (is_emulated(*function)) {
    const auto arithmetic = make_emulated_arithmetic(model);
    if (!arithmetic) return tl::unexpected(arithmetic.error());
    const auto value = emulate(**arithmetic, *function, ports[0], ports.size() > 1 ? &ports[1] : nullptr);
    if (!value) return tl::unexpected(value.error());
    narrow(value->v, *result);
  } else {
    const auto at = [&](std::size_t port, std::size_t i) {
      return port < ports.size() ? ports[port].as<float>()[i] : 0.0f;
    };
    const std::span<float> out = result->as<float>();
    if (*function == DeviceFunction::copy)
      std::ranges::copy(ports[0].bytes(), result->bytes().begin());
    else
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = host_function(*function, at(0, i), at(1, i), at(2, i));
  }
  return memory.assign(call.outputs[0], *result);
}

}  // namespace

HostKernel device_function_kernel(const ArithmeticModel& model) {
  return [model](const OpCall& call, const Program&, HostMemory& memory) {
    return run_function(model, call, memory);
  };
}

}  // namespace parity
