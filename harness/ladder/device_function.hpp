#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace parity {

/// What a device is asked about, element by element, to learn its arithmetic: `parity probe` puts these
/// questions to the op `device_function` (R = function(A, B, C), attribute `function`), whose kernels are
/// made of the same code as those of the ladder. It has no reference over the arithmetics and no stage: its
/// truth is in harness/probe/. The numbers are those of the shaders and kernels.
enum class DeviceFunction : std::uint8_t {
  copy,                  ///< loaded and stored
  add,                   ///< A + B, rounded on its own
  mul,                   ///< A * B, rounded on its own
  fma,                   ///< the fused operation
  mul_add,               ///< A * B + C as the kernels write it: a product and a sum
  mul_add_free,          ///< A * B + C left to the compiler
  min,                   ///< the language's own
  max,                   ///< the language's own
  div,                   ///< A / B
  sqrt,                  ///< as the kernels take it
  inverse_sqrt,          ///< as the kernels take it
  inverse_sqrt_builtin,  ///< the language's own, where the kernels take another
  exp,                   ///< as the kernels take it: the language's own
  log,                   ///< as the kernels take it: the language's own
  tanh,                  ///< as the kernels take it
  tanh_builtin,          ///< the language's own, where the kernels take another
  sigmoid,               ///< as the kernels take it
  sin,                   ///< the language's own
  cos,                   ///< the language's own
  to_f16,                ///< the language's own conversion to fp16, and back
  to_bf16,               ///< the language's own conversion to bf16, and back
};

inline constexpr std::string_view device_function_op = "device_function";

struct DeviceFunctionInfo {
  DeviceFunction function;
  std::string_view name;
  int inputs;  ///< ports A, B, C that it reads
};

/// All of them, in the order of their numbers.
std::span<const DeviceFunctionInfo> device_functions();
std::string_view name_of(DeviceFunction function);
int inputs_of(DeviceFunction function);
std::optional<DeviceFunction> parse_device_function(std::string_view name);

}  // namespace parity
