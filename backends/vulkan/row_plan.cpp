// RMS normalisation, rotation and what else reduces over rows or columns of tokens: norm.comp, columns.comp,
// rope.comp.
#include <fmt/format.h>

#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

using Launches = Result<std::vector<Launch>>;

enum NormOperation : std::uint32_t { rms_norm, rms_norm_backward, head_scale_gain_gradient };  // norm.comp

OpKernel norm(const char* op, const char* summary, std::function<Launches(const CallView&)> launch) {
  OpKernel kernel;
  kernel.op = op;
  kernel.summary = summary;
  kernel.shader = Shader::norm;
  kernel.first_output = 4;
  kernel.bindings = 6;
  kernel.order = KernelOrder::row;
  kernel.launch = std::move(launch);
  return kernel;
}

/// A workgroup for each group of columns of each row.
Launch over_groups(const CallView& call, NormOperation operation) {
  const PortView& x = call.inputs[0];
  const std::int64_t asked = call.attributes.integer("group", 0);
  const std::int64_t size = asked > 0 ? asked : x.cols;
  Launch launch;
  launch.grid = Launch::Grid::groups;
  launch.rows = x.rows;
  launch.cols = x.cols / size;
  launch.operation = operation;
  launch.n = {size};
  launch.x = {static_cast<double>(size), call.attributes.real("eps", 0)};
  return launch;
}

Launches launch_gain_gradient(const CallView& call) {
  const PortView &x = call.inputs[0], &gain = call.outputs[0];
  Launch launch;
  launch.grid = Launch::Grid::groups;
  launch.rows = 1;
  launch.cols = gain.cols;
  launch.operation = head_scale_gain_gradient;
  launch.n = {x.cols / gain.cols, x.rows};
  return std::vector<Launch>{std::move(launch)};
}

OpKernel weight_gradient() {
  OpKernel kernel;
  kernel.op = "rms_norm_weight_gradient";
  kernel.summary = "one column an invocation, rows in order";
  kernel.shader = Shader::columns;
  kernel.first_output = 3;
  kernel.bindings = 4;
  kernel.order = KernelOrder::sequential;
  kernel.launch = [](const CallView& call) {
    Launch launch = over_output(call, 0);
    launch.n = {call.inputs[0].rows};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

OpKernel rope() {
  OpKernel kernel;
  kernel.op = "rope";
  kernel.summary = "one element an invocation, every operation rounded";
  kernel.shader = Shader::rope;
  kernel.first_output = 3;
  kernel.bindings = 4;
  kernel.launch = [](const CallView& call) {
    Launch launch = over_output(call, 0);
    const Attributes& a = call.attributes;
    launch.n = {a.integer("head_dim"), a.integer("rotary"), a.integer("seq"),
                a.text("pairing") == "interleaved" ? 1 : 0, a.integer("inverse", 0)};
    return Launches(std::vector<Launch>{std::move(launch)});
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_row_family() {
  return make_table_family({
      norm("rms_norm", "64 invocations a row or group",
           [](const CallView& call) { return Launches({over_groups(call, rms_norm)}); }),
      norm("rms_norm_backward", "64 invocations a row or group",
           [](const CallView& call) { return Launches({over_groups(call, rms_norm_backward)}); }),
      norm("head_scale_gain_gradient", "64 invocations a head", launch_gain_gradient),
      weight_gradient(),
      rope(),
  });
}

}  // namespace parity::vulkan
