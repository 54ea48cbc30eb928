// adamw, muon_momentum and frobenius_normalize: optimizer.comp, whole.comp.
#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

using Launches = Result<std::vector<Launch>>;

enum OptimizerOperation : std::uint32_t { adamw, muon_momentum };  // optimizer.comp
constexpr std::uint32_t whole_frobenius_normalize = 1;             // whole.comp

OpKernel update(const char* op, std::function<Launches(const CallView&)> launch) {
  OpKernel kernel;
  kernel.op = op;
  kernel.summary = "one element an invocation, every operation rounded";
  kernel.shader = Shader::optimizer;
  kernel.first_output = 5;
  kernel.bindings = 8;
  kernel.launch = std::move(launch);
  return kernel;
}

Launches launch_adamw(const CallView& call) {
  const Attributes& a = call.attributes;
  const double lr = a.real("lr"), beta1 = a.real("beta1", 0.9), beta2 = a.real("beta2", 0.95);
  Launch launch = over_output(call, adamw);
  launch.x = {beta1, 1 - beta1, beta2, 1 - beta2, a.real("eps", 1e-8), 1 - lr * a.real("weight_decay", 0),
              -lr};
  return std::vector<Launch>{std::move(launch)};
}

Launches launch_muon(const CallView& call) {
  Launch launch = over_output(call, muon_momentum);
  launch.x = {call.attributes.real("mu")};
  return std::vector<Launch>{std::move(launch)};
}

OpKernel frobenius_normalize() {
  OpKernel kernel;
  kernel.op = "frobenius_normalize";
  kernel.summary = "one workgroup";
  kernel.shader = Shader::whole;
  kernel.first_output = 1;
  kernel.bindings = 3;
  kernel.order = KernelOrder::whole;
  kernel.launch = [](const CallView& call) {
    Launch launch;
    launch.grid = Launch::Grid::groups;
    launch.rows = launch.cols = 1;
    launch.operation = whole_frobenius_normalize;
    launch.n = {call.inputs[0].rows, call.inputs[0].cols};
    launch.x = {call.attributes.real("eps", 1e-7)};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_optimizer_family() {
  return make_table_family(
      {update("adamw", launch_adamw), update("muon_momentum", launch_muon), frobenius_normalize()});
}

}  // namespace parity::vulkan
