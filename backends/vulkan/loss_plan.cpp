// softmax_cross_entropy, mean and their gradients: loss.comp, whole.comp, elementwise.comp.
#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

using Launches = Result<std::vector<Launch>>;

enum LossOperation : std::uint32_t { loss, loss_backward };  // loss.comp
constexpr std::uint32_t whole_mean = 2;                      // whole.comp
constexpr std::uint32_t elementwise_mean_backward = 7;       // elementwise.comp

OpKernel cross_entropy(const char* op, const char* summary, LossOperation operation) {
  OpKernel kernel;
  kernel.op = op;
  kernel.summary = summary;
  kernel.shader = Shader::loss;
  kernel.first_output = 3;
  kernel.bindings = 4;
  kernel.index_inputs = 1u << 1;
  kernel.order = KernelOrder::row;
  kernel.launch = [operation](const CallView& call) {
    Launch launch;
    launch.grid = Launch::Grid::groups;
    launch.rows = call.inputs[0].rows;
    launch.cols = 1;
    launch.operation = operation;
    launch.n = {call.inputs[0].cols};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

OpKernel mean() {
  OpKernel kernel;
  kernel.op = "mean";
  kernel.summary = "one workgroup";
  kernel.shader = Shader::whole;
  kernel.first_output = 1;
  kernel.bindings = 3;
  kernel.order = KernelOrder::whole;
  kernel.launch = [](const CallView& call) {
    const std::int64_t count = call.inputs[0].rows * call.inputs[0].cols;
    Launch launch;
    launch.grid = Launch::Grid::groups;
    launch.rows = launch.cols = 1;
    launch.operation = whole_mean;
    launch.n = {1, count};
    launch.x = {static_cast<double>(count)};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

OpKernel mean_backward() {
  OpKernel kernel;
  kernel.op = "mean_backward";
  kernel.summary = "one element an invocation";
  kernel.shader = Shader::elementwise;
  kernel.first_output = 2;
  kernel.bindings = 3;
  kernel.launch = [](const CallView& call) {
    Launch launch = over_output(call, elementwise_mean_backward);
    launch.x = {static_cast<double>(call.attributes.integer("count"))};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_loss_family() {
  return make_table_family({
      cross_entropy("softmax_cross_entropy", "64 invocations a row, three passes over the classes", loss),
      cross_entropy("softmax_cross_entropy_backward", "64 invocations a row, the softmax computed again",
                    loss_backward),
      mean(),
      mean_backward(),
  });
}

}  // namespace parity::vulkan
