// gradient_reduction, square_sum and clip_factor: columns.comp, whole.comp, atomic.comp.
#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

using Launches = Result<std::vector<Launch>>;

constexpr std::uint32_t columns_gradient_reduction = 1;               // columns.comp
constexpr std::uint32_t whole_square_sum = 0, whole_clip_factor = 3;  // whole.comp
constexpr std::uint32_t atomic_clear = 0, atomic_add_columns = 2;     // atomic.comp

OpKernel gradient_reduction() {
  OpKernel kernel;
  kernel.op = "gradient_reduction";
  kernel.summary = "one column an invocation, rows in order";
  kernel.shader = Shader::columns;
  kernel.first_output = 3;
  kernel.bindings = 4;
  kernel.order = KernelOrder::sequential;
  kernel.launch = [](const CallView& call) {
    Launch launch = over_output(call, columns_gradient_reduction);
    launch.n = {call.inputs[0].rows};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

OpKernel gradient_reduction_atomic() {
  OpKernel kernel = gradient_reduction();
  kernel.path = "atomic_f32";
  kernel.summary = "one element an invocation, added atomically";
  kernel.shader = Shader::atomic;
  kernel.first_output = 2;
  kernel.bindings = 3;
  kernel.order = KernelOrder::any;
  kernel.atomic_add = true;
  kernel.launch = [](const CallView& call) {
    Launch first = over_output(call, atomic_clear), then = over_output(call, atomic_add_columns);
    then.rows = call.inputs[0].rows;
    return Launches(std::vector<Launch>{std::move(first), std::move(then)});
  };
  return kernel;
}

/// One workgroup over a whole tensor.
OpKernel whole(const char* op, const char* summary, KernelOrder order,
               std::function<Launches(const CallView&)> launch) {
  OpKernel kernel;
  kernel.op = op;
  kernel.summary = summary;
  kernel.shader = Shader::whole;
  kernel.first_output = 1;
  kernel.bindings = 3;
  kernel.order = order;
  kernel.launch = std::move(launch);
  return kernel;
}

Launch one_group(std::uint32_t operation) {
  Launch launch;
  launch.grid = Launch::Grid::groups;
  launch.rows = launch.cols = 1;
  launch.operation = operation;
  return launch;
}

Launches launch_square_sum(const CallView& call) {
  Launch launch = one_group(whole_square_sum);
  launch.n = {call.inputs[0].rows, call.inputs[0].cols};
  return std::vector<Launch>{std::move(launch)};
}

Launches launch_clip_factor(const CallView& call) {
  Launch launch = one_group(whole_clip_factor);
  launch.n = {1, call.inputs[0].cols, call.inputs[0].step};
  launch.x = {call.attributes.real("max_norm"), 1e-6};
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

std::unique_ptr<const KernelFamily> make_reduction_family() {
  OpKernel clip = whole("clip_factor", "one invocation", KernelOrder::sequential, launch_clip_factor);
  clip.strided_inputs = 1;
  return make_table_family({
      gradient_reduction(),
      gradient_reduction_atomic(),
      whole("square_sum", "one workgroup", KernelOrder::whole, launch_square_sum),
      std::move(clip),
  });
}

}  // namespace parity::vulkan
