#include "backends/cuda/kernel_paths.hpp"
#include "backends/cuda/problem.hpp"
#include "backends/cuda/recurrent_kernels.hpp"

namespace parity::cuda {

namespace {

/// The extent of three gates of H columns beside each other.
Extent gates_of(const Extent& hidden) {
  return {hidden.batch, hidden.rows, 3 * hidden.cols};
}

Result<PreparedCall> read_gru_gate(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const auto activation = activation_of(call.attributes().text("activation"));
  call.require(activation == Activation::sigmoid || activation == Activation::tanh,
               "a gate is a sigmoid or a tanh, not '" + call.attributes().text("activation") + "'");
  return call.prepare(GruGate{extent, call.input(0, extent), call.input(1, extent), call.output(0, extent),
                              activation.value_or(Activation::sigmoid)});
}

Result<PreparedCall> read_gru_gates(CallReader& call) {
  const Extent extent = call.output_extent(0), gates = gates_of(extent);
  return call.prepare(GruGates{extent, call.input(0, gates), call.input(1, gates), call.input(2, extent),
                               call.output(0, extent), call.output(1, extent), call.output(2, extent),
                               call.output(3, extent)});
}

Result<PreparedCall> read_gru_gates_backward(CallReader& call) {
  const Extent extent = call.output_extent(2), gates = gates_of(extent);
  return call.prepare(GruGatesBackward{extent, call.input(0, gates), call.input(1, extent),
                                       call.input(2, extent), call.input(3, extent), call.input(4, extent),
                                       call.input(5, extent), call.output(0, gates), call.output(1, gates),
                                       call.output(2, extent)});
}

Result<PreparedCall> read_gru_blend(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(GruBlend{extent, call.input(0, extent), call.input(1, extent), call.input(2, extent),
                               call.output(0, extent)});
}

Result<PreparedCall> read_gru_blend_backward(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(GruBlendBackward{extent, call.input(0, extent), call.input(1, extent),
                                       call.input(2, extent), call.input(3, extent), call.output(0, extent),
                                       call.output(1, extent), call.output(2, extent)});
}

}  // namespace

std::vector<Path> recurrent_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"gru_gate", "one thread an element", elementwise_model, read_gru_gate},
      {"gru_gates", "one thread an element: three gates and the blend", elementwise_model, read_gru_gates},
      {"gru_gates_backward", "one thread an element", elementwise_model, read_gru_gates_backward},
      {"gru_blend", "one thread an element", elementwise_model, read_gru_blend},
      {"gru_blend_backward", "one thread an element", elementwise_model, read_gru_blend_backward},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
