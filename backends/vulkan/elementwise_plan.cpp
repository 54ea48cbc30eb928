// cast, axpby, mul, scale_by, softcap, activation_backward and head_scale: elementwise.comp and cast.comp.
#include <fmt/format.h>

#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

enum ElementwiseOperation : std::uint32_t {  // elementwise.comp
  axpby,
  mul,
  scale_by,
  softcap,
  softcap_backward,
  activation_backward,
  head_scale,
};

using Launches = Result<std::vector<Launch>>;

Launches one(Launch launch) {
  return std::vector<Launch>{std::move(launch)};
}

OpKernel elementwise(const char* op, const char* summary, std::function<Launches(const CallView&)> launch) {
  OpKernel kernel;
  kernel.op = op;
  kernel.summary = summary;
  kernel.shader = Shader::elementwise;
  kernel.first_output = 2;
  kernel.bindings = 3;
  kernel.launch = std::move(launch);
  return kernel;
}

OpKernel plain(const char* op, ElementwiseOperation operation) {
  return elementwise(op, "one element an invocation, every operation rounded",
                     [operation](const CallView& call) { return one(over_output(call, operation)); });
}

OpKernel with_cap(const char* op, const char* summary, ElementwiseOperation operation) {
  return elementwise(op, summary, [operation](const CallView& call) {
    Launch launch = over_output(call, operation);
    launch.x = {call.attributes.real("cap", 1)};
    return one(std::move(launch));
  });
}

Launches launch_axpby(const CallView& call) {
  Launch launch = over_output(call, axpby);
  launch.x = {call.attributes.real("alpha", 1), call.attributes.real("beta", 1)};
  return one(std::move(launch));
}

Launches launch_activation_backward(const CallView& call) {
  const std::string name = call.attributes.text("activation");
  const auto function = parse_function(name);
  if (function != Function::relu && function != Function::sigmoid && function != Function::tanh)
    return fail(ErrorKind::unsupported,
                fmt::format("activation_backward: no Vulkan kernel has the activation '{}'", name));
  Launch launch = over_output(call, activation_backward);
  launch.n = {static_cast<std::int64_t>(*function)};
  return one(std::move(launch));
}

Launches launch_head_scale(const CallView& call) {
  Launch launch = over_output(call, head_scale);
  launch.n = {launch.cols / call.inputs[1].cols};
  return one(std::move(launch));
}

std::int64_t cast_code(DType dtype) {
  return dtype == DType::f16 ? 1 : dtype == DType::bf16 ? 2 : 0;
}

/// A path has one input dtype, so that each has its own name.
OpKernel cast(const char* path, DType input, std::vector<DType> stores) {
  OpKernel kernel;
  kernel.op = "cast";
  kernel.summary = fmt::format("one element an invocation, from {}, in integer arithmetic", name_of(input));
  kernel.path = path;
  kernel.shader = Shader::cast;
  kernel.first_output = 1;
  kernel.bindings = 2;
  kernel.input = input;
  kernel.stores = std::move(stores);
  kernel.launch = [](const CallView& call) {
    Launch launch = over_output(call, 0);
    launch.n = {cast_code(call.inputs[0].dtype), cast_code(call.outputs[0].dtype)};
    return one(std::move(launch));
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_elementwise_family() {
  return make_table_family({
      elementwise("axpby", "alpha X and beta Y rounded, then their sum", launch_axpby),
      plain("mul", mul),
      plain("scale_by", scale_by),
      with_cap("softcap", "cap tanh(X / cap), tanh by exp and a continued fraction", softcap),
      with_cap("softcap_backward", "one element an invocation, every operation rounded", softcap_backward),
      elementwise("activation_backward", "from the activation's result", launch_activation_backward),
      elementwise("head_scale", "one element an invocation", launch_head_scale),
      cast("direct_f32", DType::f32, {DType::f16, DType::bf16, DType::f32}),
      cast("direct_f16", DType::f16, {DType::f32}),
      cast("direct_bf16", DType::bf16, {DType::f32}),
  });
}

}  // namespace parity::vulkan
