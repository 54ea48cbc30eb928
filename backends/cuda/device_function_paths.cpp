#include "backends/cuda/device_function_kernels.hpp"
#include "backends/cuda/kernel_paths.hpp"
#include "harness/ladder/device_function.hpp"

namespace parity::cuda {

namespace {

/// Why the kernels do not have this function; empty: they have it.
std::string absent_function(DeviceFunction function, bool half) {
  switch (function) {
    case DeviceFunction::tanh_builtin:
      return "the kernels take the language's own tanhf, which is asked about as tanh";
    case DeviceFunction::inverse_sqrt_builtin:
    case DeviceFunction::tanh:
    case DeviceFunction::sigmoid:
    case DeviceFunction::to_f16:
    case DeviceFunction::to_bf16:
      return half ? "the kernels compute it in fp32 only" : "";
    default:
      return "";
  }
}

DeviceFunction read_function(CallReader& call, bool half) {
  const std::string name = call.attributes().text("function");
  const auto function = parse_device_function(name);
  call.require(function.has_value(), "no function is called '" + name + "'");
  const std::string why = function ? absent_function(*function, half) : "";
  call.require(why.empty(), name + ": " + why);
  return function.value_or(DeviceFunction::copy);
}

Result<PreparedCall> read_device_function(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const DeviceFunction function = read_function(call, false);
  const auto optional = [&](std::size_t port) {
    return call.has_input(port) ? call.input(port, extent) : Input{};
  };
  return call.prepare(DeviceFunctionCall{extent, call.input(0, extent), optional(1), optional(2),
                                         call.output(0, extent), static_cast<int>(function)});
}

Result<PreparedCall> read_half_function(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const DeviceFunction function = read_function(call, true);
  const auto optional = [&](std::size_t port) {
    return call.has_input(port) ? call.any_input(port, extent) : MatrixPointer{};
  };
  const MatrixPointer r = call.any_output(0, extent);
  return call.prepare(HalfFunctionCall{extent, call.any_input(0, extent), optional(1), optional(2),
                                       const_cast<void*>(r.data), r.batch, r.row, r.col,
                                       static_cast<int>(function)});
}

}  // namespace

std::vector<Path> device_function_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"device_function", "one function of parity probe an element, in fp32", elementwise_model,
       read_device_function},
      {.op = "device_function",
       .summary = "one function of parity probe an element, in fp16",
       .model = elementwise_model,
       .read = read_half_function,
       .path = "direct_f16",
       .input = DType::f16,
       .stores = {DType::f16}},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
