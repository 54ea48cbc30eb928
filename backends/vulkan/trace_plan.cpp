// trace_scan: trace_scan.comp.
#include <fmt/format.h>

#include "backends/vulkan/op_kernel.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::vulkan {

namespace {

OpKernel trace_scan(const char* path, DType input, std::int64_t code) {
  OpKernel kernel;
  kernel.op = "trace_scan";
  kernel.summary = fmt::format("one workgroup, {} as integers", name_of(input));
  kernel.path = path;
  kernel.shader = Shader::trace_scan;
  kernel.first_output = 1;
  kernel.bindings = 2;
  kernel.lanes = 128;
  kernel.input = input;
  kernel.stores = {DType::i32};
  kernel.launch = [input, code](const CallView& call) {
    Launch launch;
    launch.grid = Launch::Grid::groups;
    launch.rows = launch.cols = 1;
    launch.n = {call.inputs[0].rows, call.inputs[0].cols, code,
                static_cast<std::int64_t>(poison_bits(input, Poison::unwritten))};
    return Result<std::vector<Launch>>(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_trace_family() {
  return make_table_family({trace_scan("direct_f32", DType::f32, 0), trace_scan("direct_f16", DType::f16, 1),
                            trace_scan("direct_bf16", DType::bf16, 2),
                            trace_scan("direct_i32", DType::i32, 3)});
}

}  // namespace parity::vulkan
