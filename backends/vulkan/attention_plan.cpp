// attention and xsa with their gradients: attention.comp, attention_backward.comp, xsa.comp.
#include <fmt/format.h>

#include "backends/vulkan/op_kernel.hpp"

namespace parity::vulkan {

namespace {

using Launches = Result<std::vector<Launch>>;

constexpr std::int64_t most_columns = 1024;  // of a head: sixteen a lane
constexpr std::int64_t statistics_a_query = 3;
enum BackwardOperation : std::uint32_t { of_queries, of_keys };  // attention_backward.comp
enum XsaOperation : std::uint32_t { xsa, xsa_backward };         // xsa.comp

/// What every dispatch of attention shares; `heads` are the workgroups of a row.
Result<Launch> over_heads(const CallView& call, std::int64_t groups) {
  const Attributes& a = call.attributes;
  const std::int64_t heads = a.integer("heads"), kv_heads = a.integer("kv_heads");
  const PortView& q = call.inputs[0];
  const std::int64_t head_dim = q.cols / heads;
  if (head_dim > most_columns)
    return fail(ErrorKind::unsupported,
                fmt::format("a head has {} columns; the kernel takes at most {}", head_dim, most_columns));
  Launch launch;
  launch.grid = Launch::Grid::groups;
  launch.rows = q.rows;
  launch.cols = groups;
  launch.n = {heads, heads / kv_heads, a.integer("seq"), a.integer("causal")};
  launch.x = {a.real("scale")};
  launch.constants = {static_cast<std::uint32_t>(head_dim)};
  return launch;
}

OpKernel attention() {
  OpKernel kernel;
  kernel.op = "attention";
  kernel.summary = "64 invocations a query and head, two passes over the keys";
  kernel.shader = Shader::attention;
  kernel.first_output = 4;
  kernel.bindings = 5;
  kernel.index_inputs = 1u << 3;
  kernel.order = KernelOrder::sequential;
  kernel.launch = [](const CallView& call) -> Launches {
    auto launch = over_heads(call, call.attributes.integer("heads"));
    if (!launch) return tl::unexpected(launch.error());
    return std::vector<Launch>{*std::move(launch)};
  };
  return kernel;
}

OpKernel attention_backward() {
  OpKernel kernel;
  kernel.op = "attention_backward";
  kernel.summary = "a dispatch over the queries, then one over the keys; no atomics";
  kernel.shader = Shader::attention_backward;
  kernel.first_output = 5;
  kernel.bindings = 9;
  kernel.index_inputs = 1u << 3;
  kernel.order = KernelOrder::sequential;
  kernel.launch = [](const CallView& call) -> Launches {
    const std::int64_t heads = call.attributes.integer("heads");
    auto queries = over_heads(call, heads);
    if (!queries) return tl::unexpected(queries.error());
    queries->scratch_floats = queries->rows * heads * statistics_a_query;
    Launch keys = *queries;
    queries->operation = of_queries;
    keys.operation = of_keys;
    keys.cols = call.attributes.integer("kv_heads");
    return std::vector<Launch>{*std::move(queries), std::move(keys)};
  };
  return kernel;
}

OpKernel xsa_kernel(const char* op, const char* summary, XsaOperation operation) {
  OpKernel kernel;
  kernel.op = op;
  kernel.summary = summary;
  kernel.shader = Shader::xsa;
  kernel.first_output = 3;
  kernel.bindings = 5;
  kernel.order = KernelOrder::row;
  kernel.launch = [operation](const CallView& call) -> Launches {
    const std::int64_t heads = call.attributes.integer("heads"),
                       kv_heads = call.attributes.integer("kv_heads");
    Launch launch;
    launch.grid = Launch::Grid::groups;
    launch.rows = call.inputs[0].rows;
    launch.cols = operation == xsa ? heads : kv_heads;
    launch.operation = operation;
    launch.n = {call.inputs[0].cols / heads, heads / kv_heads};
    return std::vector<Launch>{std::move(launch)};
  };
  return kernel;
}

}  // namespace

std::unique_ptr<const KernelFamily> make_attention_family() {
  return make_table_family({
      attention(),
      attention_backward(),
      xsa_kernel("xsa", "64 invocations a row and head", xsa),
      xsa_kernel("xsa_backward", "64 invocations a row and kv head", xsa_backward),
  });
}

}  // namespace parity::vulkan
