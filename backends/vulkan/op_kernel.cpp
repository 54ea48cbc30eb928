#include "backends/vulkan/op_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/vulkan/path_models.hpp"
#include "harness/ladder/guarded_buffer.hpp"

namespace parity::vulkan {

namespace {

// constant_id and push constants of op_interface.glsl.
constexpr std::uint32_t constant_lanes = 0, constant_guard = 1, constant_operation = 2,
                        constant_first_own = 3;
constexpr std::size_t strides = 10, integers = 8, reals = 8;

bool bit(std::uint32_t bits, std::size_t i) {
  return (bits >> i & 1u) != 0;
}

/// Rank 1 to 3 as rows of neighbours; a batch of matrices must be one matrix of more rows.
Result<PortView> view_port(const Program& program, TensorId id, bool strided) {
  const TensorSpec& spec = program.spec(id);
  const Shape& shape = spec.shape;
  const Strides steps = spec.strides.empty() ? contiguous_strides(shape) : spec.strides;
  const auto refuse = [&](const char* why) {
    return fail(ErrorKind::unsupported,
                fmt::format("tensor '{}' has shape {} and {}", spec.name, parity::to_string(shape), why));
  };
  if (shape.empty() || shape.size() > 3) return refuse("the Vulkan kernels take rank 1 to 3");
  PortView view{id, spec.dtype, 1, shape.back(), 0, steps.back()};
  if (view.cols > 1 && view.step != 1 && !(strided && shape.size() == 1))
    return refuse("its rows have gaps between elements");
  if (shape.size() >= 2) {
    view.rows = shape[shape.size() - 2];
    view.stride = steps[shape.size() - 2];
  }
  if (shape.size() == 3) {
    if (shape[0] > 1 && view.rows > 1 && steps[0] != view.rows * view.stride)
      return refuse("its matrices do not follow each other without a gap");
    if (view.rows == 1) view.stride = steps[0];
    view.rows *= shape[0];
  }
  return view;
}

Result<CallView> view_call(const Capabilities& capabilities, const OpKernel& kernel, const OpCall& call,
                           const Program& program) {
  CallView view{capabilities, call.attributes, {}, {}};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] == no_tensor) {
      view.inputs.emplace_back();
      continue;
    }
    auto port = view_port(program, call.inputs[i], bit(kernel.strided_inputs, i));
    if (!port) return tl::unexpected(port.error());
    const DType wanted = bit(kernel.index_inputs, i) ? DType::i32 : kernel.input;
    if (port->dtype != wanted)
      return fail(ErrorKind::unsupported, fmt::format("tensor '{}' is {}; the kernel of {} reads {}",
                                                      program.spec(call.inputs[i]).name, name_of(port->dtype),
                                                      call.op, name_of(wanted)));
    view.inputs.push_back(*port);
  }
  view.inputs.resize(std::max<std::size_t>(view.inputs.size(), kernel.first_output));
  for (const TensorId id : call.outputs) {
    auto port = view_port(program, id, false);
    if (!port) return tl::unexpected(port.error());
    view.outputs.push_back(*port);
  }
  return view;
}

bool nothing_to_do(const CallView& call) {
  return std::ranges::all_of(call.outputs, [](const PortView& p) { return p.rows == 0 || p.cols == 0; });
}

std::uint32_t lanes_of(const Capabilities& capabilities, const OpKernel& kernel) {
  return kernel.order == KernelOrder::whole ? whole_lanes(capabilities) : kernel.lanes;
}

Dispatch lay_out(const OpKernel& kernel, const CallView& call, const Launch& launch) {
  const Capabilities& c = call.capabilities;
  const std::uint32_t lanes = lanes_of(c, kernel);
  Dispatch dispatch;
  dispatch.pipeline.shader = kernel.shader;
  dispatch.pipeline.modes = choose_float_modes(c, kernel.computes_in_f16);
  dispatch.pipeline.bindings = kernel.bindings;
  dispatch.pipeline.constants = {{constant_lanes, lanes},
                                 {constant_guard, static_cast<std::uint32_t>(guard_bytes)},
                                 {constant_operation, launch.operation}};
  for (std::size_t i = 0; i < launch.constants.size(); ++i)
    dispatch.pipeline.constants.push_back(
        {constant_first_own + static_cast<std::uint32_t>(i), launch.constants[i]});

  // A binding without a tensor gets output 0, which this dispatch writes anyway.
  dispatch.buffers.assign(kernel.bindings, call.outputs[0].tensor);
  std::uint32_t present = 0;
  std::vector<std::uint32_t> stride(strides, 0), n(integers, 0), x(reals, 0);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].tensor == no_tensor) continue;
    present |= 1u << i;
    dispatch.buffers[i] = call.inputs[i].tensor;
    stride[i] = word(call.inputs[i].stride);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    dispatch.buffers[kernel.first_output + i] = call.outputs[i].tensor;
    stride[kernel.first_output + i] = word(call.outputs[i].stride);
  }
  if (launch.scratch_floats > 0) {
    dispatch.buffers.back() = scratch_buffer;
    dispatch.scratch_floats = launch.scratch_floats;
  }
  std::ranges::transform(launch.n, n.begin(), word);
  std::ranges::transform(launch.x, x.begin(), [](double value) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  });
  dispatch.push_words = {word(launch.rows), word(launch.cols), present};
  for (const auto& words : {stride, n, x})
    dispatch.push_words.insert(dispatch.push_words.end(), words.begin(), words.end());

  // What the device's limits cut off, the shaders' own loops cover.
  const std::int64_t across =
      launch.grid == Launch::Grid::groups ? launch.cols : (launch.cols + lanes - 1) / lanes;
  dispatch.groups[0] = word(std::min<std::int64_t>(across, c.group_count[0]));
  dispatch.groups[1] = word(std::min<std::int64_t>(launch.rows, c.group_count[1]));
  return dispatch;
}

class TableFamily final : public KernelFamily {
 public:
  explicit TableFamily(std::vector<OpKernel> kernels) : kernels_(std::move(kernels)) {}

  std::vector<Implementation> implementations(const Capabilities& capabilities) const override {
    std::vector<Implementation> list;
    for (const OpKernel& kernel : kernels_) list.push_back(describe(capabilities, kernel));
    return list;
  }

  Support supports(const Capabilities& c, const Implementation& implementation) const override {
    const OpKernel* kernel = find(implementation);
    if (!kernel)
      return {Support::Kind::not_applicable,
              fmt::format("'{}' is no path of {}", implementation.path, implementation.op)};
    if (c.api_version < VK_API_VERSION_1_2)
      return unsupported(fmt::format("needs Vulkan 1.2; the device offers {}.{}",
                                     VK_API_VERSION_MAJOR(c.api_version),
                                     VK_API_VERSION_MINOR(c.api_version)));
    if (!c.compute_queue) return unsupported("needs a compute queue; the device has none");
    if (kernel->bindings > c.storage_buffers)
      return unsupported(
          fmt::format("needs {} storage buffers; the device binds at most {} "
                      "(maxPerStageDescriptorStorageBuffers)",
                      kernel->bindings, c.storage_buffers));
    if (kernel->atomic_add && !c.atomic_add_f32)
      return unsupported(
          "needs VK_EXT_shader_atomic_float with shaderBufferFloat32AtomicAdd; the device does not offer it");
    if (kernel->computes_in_f16 && !c.float16)
      return unsupported("computes in fp16 and needs shaderFloat16; the device does not offer it");
    // trace_scan reads halves of words.
    const bool narrow = kernel->stores != std::vector{DType::i32} &&
                        (kernel->input != DType::f32 || kernel->stores != std::vector{DType::f32});
    if (narrow && !c.storage16)
      return unsupported("needs storageBuffer16BitAccess for 16-bit buffers; the device does not offer it");
    return {};
  }

  Support supports(const Capabilities& c, const Implementation& implementation, const OpCall& call,
                   const Program& program) const override {
    const OpKernel& kernel = *find(implementation);
    const auto view = view_call(c, kernel, call, program);
    if (!view) return unsupported(view.error().message);
    for (const auto* ports : {&view->inputs, &view->outputs})
      for (const PortView& port : *ports)
        if (port.tensor != no_tensor)
          if (Support fits = fits_binding(c, program.spec(port.tensor)); !fits.legal()) return fits;
    if (nothing_to_do(*view)) return {};
    const auto launches = kernel.launch(*view);
    if (!launches) return unsupported(launches.error().message);
    for (const Launch& launch : *launches) {
      const TensorSpec scratch{"scratch memory", DType::f32, {launch.scratch_floats}, {1}};
      if (Support fits = fits_binding(c, scratch); !fits.legal()) return fits;
    }
    return {};
  }

  Result<std::vector<Dispatch>> plan(const Capabilities& c, const Implementation& implementation,
                                     const OpCall& call, const Program& program) const override {
    const OpKernel& kernel = *find(implementation);
    const auto view = view_call(c, kernel, call, program);
    if (!view) return tl::unexpected(view.error());
    std::vector<Dispatch> dispatches;
    if (nothing_to_do(*view)) return dispatches;
    const auto launches = kernel.launch(*view);
    if (!launches) return tl::unexpected(launches.error());
    for (const Launch& launch : *launches)
      if (launch.rows > 0 && launch.cols > 0) dispatches.push_back(lay_out(kernel, *view, launch));
    return dispatches;
  }

 private:
  const OpKernel* find(const Implementation& implementation) const {
    for (const OpKernel& kernel : kernels_)
      if (kernel.op == implementation.op && kernel.path == implementation.path) return &kernel;
    return nullptr;
  }

  static Support fits_binding(const Capabilities& c, const TensorSpec& spec) {
    const auto layout = guarded_layout(spec);
    if (!layout) return unsupported(layout.error().message);
    const std::uint64_t most = std::min(c.max_storage_range, std::uint64_t{0xffffffff});
    if (layout->total() <= most) return {};
    return unsupported(
        fmt::format("tensor '{}' needs {} bytes with its guard zones; the device binds at most {} "
                    "(maxStorageBufferRange)",
                    spec.name, layout->total(), most));
  }

  static Implementation describe(const Capabilities& capabilities, const OpKernel& kernel) {
    Implementation implementation;
    implementation.path = kernel.path;
    implementation.op = kernel.op;
    implementation.summary = kernel.summary;
    implementation.factors = kernel.op == "cast" || kernel.op == "trace_scan" ? 1 : 0;
    implementation.input = kernel.input;
    implementation.multiply = format_of(kernel.input);
    implementation.stores = kernel.stores;
    implementation.contract = base_model(capabilities, kernel.input);
    // trace_scan, of the results of programs that add in int32.
    if (kernel.input == DType::i32) implementation.accumulate = DType::i32;
    if (kernel.order == KernelOrder::any) return implementation;  // of unknown order
    implementation.knowledge = OrderKnowledge::declared;
    using Kind = SummationOrder::Kind;
    switch (kernel.order) {
      case KernelOrder::row:
        set_order(capabilities, {Kind::strided, kernel.lanes}, implementation);
        break;
      case KernelOrder::whole:
        set_order(capabilities, {Kind::strided, whole_lanes(capabilities)}, implementation);
        break;
      case KernelOrder::sequential:
        set_order(capabilities, {Kind::sequential}, implementation);
        break;
      default:
        implementation.contract.accumulation = Accumulation{{Kind::sequential}, MultiplyAdd::separate, {}};
        add_replays(capabilities, {*implementation.contract.accumulation}, implementation);
    }
    return implementation;
  }

  std::vector<OpKernel> kernels_;
};

}  // namespace

std::uint32_t whole_lanes(const Capabilities& capabilities) {
  const std::uint32_t most = std::min({1024u, capabilities.invocations, capabilities.group_size[0]});
  return std::bit_floor(std::max(most, 1u));
}

Launch over_output(const CallView& call, std::uint32_t operation) {
  Launch launch;
  launch.rows = call.outputs[0].rows;
  launch.cols = call.outputs[0].cols;
  launch.operation = operation;
  return launch;
}

std::unique_ptr<const KernelFamily> make_table_family(std::vector<OpKernel> kernels) {
  return std::make_unique<TableFamily>(std::move(kernels));
}

}  // namespace parity::vulkan
