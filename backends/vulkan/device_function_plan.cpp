// device_function: device_function.comp, in fp32 and in fp16.
#include "harness/ladder/device_function.hpp"

#include <fmt/format.h>

#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

/// Why the shader does not have this function; empty: it has it.
std::string_view absent_function(DeviceFunction function, bool half) {
  switch (function) {
    case DeviceFunction::inverse_sqrt_builtin:
      return "the kernels take the language's own inversesqrt, which is asked about as inverse_sqrt";
    case DeviceFunction::to_bf16:
      return "the language has no conversion to bf16; the kernels' own is the op cast";
    case DeviceFunction::tanh:
    case DeviceFunction::sigmoid:
    case DeviceFunction::to_f16:
      return half ? "the kernels compute it in fp32 only" : "";
    default:
      return "";
  }
}

OpKernel device_function(bool half) {
  OpKernel kernel;
  kernel.op = device_function_op;
  kernel.summary = fmt::format("one function of parity probe an element, in {}", half ? "fp16" : "fp32");
  kernel.path = half ? "direct_f16" : "direct_f32";
  kernel.shader = half ? Shader::device_function_f16 : Shader::device_function;
  kernel.first_output = 3;
  kernel.bindings = 4;
  kernel.computes_in_f16 = half;
  if (half) {
    kernel.input = DType::f16;
    kernel.stores = {DType::f16};
  }
  kernel.launch = [half](const CallView& call) -> Result<std::vector<Launch>> {
    const std::string name = call.attributes.text("function");
    const auto function = parse_device_function(name);
    if (!function) return fail(ErrorKind::unsupported, fmt::format("no function is called '{}'", name));
    if (const auto why = absent_function(*function, half); !why.empty())
      return fail(ErrorKind::unsupported, fmt::format("{}: {}", name, why));
    return std::vector{over_output(call, static_cast<std::uint32_t>(*function))};
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_device_function_family() {
  return make_table_family({device_function(false), device_function(true)});
}

}  // namespace parity::vulkan
