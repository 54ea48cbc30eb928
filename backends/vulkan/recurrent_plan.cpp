// The elementwise parts of a GRU cell: recurrent.comp.
#include <fmt/format.h>

#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

enum RecurrentOperation : std::uint32_t {
  gru_gate,
  gru_gates,
  gru_gates_backward,
  gru_blend,
  gru_blend_backward
};

using Launches = Result<std::vector<Launch>>;

Launches launch_gate(const CallView& call) {
  const std::string name = call.attributes.text("activation");
  const auto function = parse_function(name);
  if (function != Function::sigmoid && function != Function::tanh)
    return fail(ErrorKind::unsupported,
                fmt::format("gru_gate: no Vulkan kernel has the activation '{}'", name));
  Launch launch = over_output(call, gru_gate);
  launch.n = {static_cast<std::int64_t>(*function)};
  return std::vector<Launch>{std::move(launch)};
}

/// An invocation for each of the hidden units, whatever is three times as wide.
std::function<Launches(const CallView&)> over_units(RecurrentOperation operation, std::size_t output) {
  return [=](const CallView& call) {
    Launch launch = over_output(call, operation);
    launch.cols = call.outputs[output].cols;
    return Launches(std::vector<Launch>{std::move(launch)});
  };
}

OpKernel recurrent(const char* op, const char* summary, std::function<Launches(const CallView&)> launch) {
  OpKernel kernel;
  kernel.op = op;
  kernel.summary = summary;
  kernel.shader = Shader::recurrent;
  kernel.first_output = 6;
  kernel.bindings = 10;
  kernel.launch = std::move(launch);
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_recurrent_family() {
  return make_table_family({
      recurrent("gru_gate", "sigmoid or tanh of a sum, by exp", launch_gate),
      recurrent("gru_gates", "one hidden unit an invocation", over_units(gru_gates, 0)),
      recurrent("gru_gates_backward", "one hidden unit an invocation", over_units(gru_gates_backward, 2)),
      recurrent("gru_blend", "one element an invocation", over_units(gru_blend, 0)),
      recurrent("gru_blend_backward", "one element an invocation", over_units(gru_blend_backward, 0)),
  });
}

}  // namespace parity::vulkan
