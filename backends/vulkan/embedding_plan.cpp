// embedding and its gradient: embedding.comp, embedding_backward.comp, atomic.comp.
#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

using Launches = Result<std::vector<Launch>>;

enum AtomicOperation : std::uint32_t { clear, add_by_id };  // atomic.comp

OpKernel embedding() {
  OpKernel kernel;
  kernel.op = "embedding";
  kernel.summary = "one element an invocation, copied as words";
  kernel.shader = Shader::embedding;
  kernel.first_output = 2;
  kernel.bindings = 3;
  kernel.index_inputs = 1u << 1;
  kernel.launch = [](const CallView& call) {
    Launch launch = over_output(call, 0);
    launch.n = {call.inputs[0].rows};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

OpKernel embedding_backward() {
  OpKernel kernel;
  kernel.op = "embedding_backward";
  kernel.summary = "64 invocations a row of the table, which looks for its index";
  kernel.shader = Shader::embedding_backward;
  kernel.first_output = 2;
  kernel.bindings = 3;
  kernel.index_inputs = 1u << 0;
  kernel.order = KernelOrder::sequential;
  kernel.launch = [](const CallView& call) {
    Launch launch;
    launch.grid = Launch::Grid::groups;
    launch.rows = 1;
    launch.cols = call.outputs[0].rows;
    launch.n = {call.inputs[1].rows, call.inputs[1].cols};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

OpKernel embedding_backward_atomic() {
  OpKernel kernel = embedding_backward();
  kernel.path = "atomic_f32";
  kernel.summary = "one element of dY an invocation, added atomically";
  kernel.shader = Shader::atomic;
  kernel.order = KernelOrder::any;
  kernel.atomic_add = true;
  kernel.launch = [](const CallView& call) {
    Launch first = over_output(call, clear), then = over_output(call, add_by_id);
    then.rows = call.inputs[1].rows;
    then.n = {call.outputs[0].rows};
    return Launches(std::vector<Launch>{std::move(first), std::move(then)});
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_embedding_family() {
  return make_table_family({embedding(), embedding_backward(), embedding_backward_atomic()});
}

}  // namespace parity::vulkan
