#include "harness/ladder/device_function.hpp"

namespace parity {

namespace {

constexpr DeviceFunctionInfo functions_of_devices[] = {
    {DeviceFunction::copy, "copy", 1},
    {DeviceFunction::add, "add", 2},
    {DeviceFunction::mul, "mul", 2},
    {DeviceFunction::fma, "fma", 3},
    {DeviceFunction::mul_add, "mul_add", 3},
    {DeviceFunction::mul_add_free, "mul_add_free", 3},
    {DeviceFunction::min, "min", 2},
    {DeviceFunction::max, "max", 2},
    {DeviceFunction::div, "div", 2},
    {DeviceFunction::sqrt, "sqrt", 1},
    {DeviceFunction::inverse_sqrt, "inverse_sqrt", 1},
    {DeviceFunction::inverse_sqrt_builtin, "inverse_sqrt_builtin", 1},
    {DeviceFunction::exp, "exp", 1},
    {DeviceFunction::log, "log", 1},
    {DeviceFunction::tanh, "tanh", 1},
    {DeviceFunction::tanh_builtin, "tanh_builtin", 1},
    {DeviceFunction::sigmoid, "sigmoid", 1},
    {DeviceFunction::sin, "sin", 1},
    {DeviceFunction::cos, "cos", 1},
    {DeviceFunction::to_f16, "to_f16", 1},
    {DeviceFunction::to_bf16, "to_bf16", 1},
};

constexpr bool numbered_in_order() {
  for (std::size_t i = 0; i < std::size(functions_of_devices); ++i)
    if (static_cast<std::size_t>(functions_of_devices[i].function) != i) return false;
  return true;
}
static_assert(numbered_in_order());

}  // namespace

std::span<const DeviceFunctionInfo> device_functions() {
  return functions_of_devices;
}

std::string_view name_of(DeviceFunction function) {
  return functions_of_devices[static_cast<std::size_t>(function)].name;
}

int inputs_of(DeviceFunction function) {
  return functions_of_devices[static_cast<std::size_t>(function)].inputs;
}

std::optional<DeviceFunction> parse_device_function(std::string_view name) {
  for (const DeviceFunctionInfo& info : functions_of_devices)
    if (info.name == name) return info.function;
  return std::nullopt;
}

}  // namespace parity
