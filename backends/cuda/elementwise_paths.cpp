#include "backends/cuda/elementwise_kernels.hpp"
#include "backends/cuda/kernel_paths.hpp"
#include "backends/cuda/problem.hpp"

namespace parity::cuda {

namespace {

Result<PreparedCall> read_cast(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const MatrixPointer y = call.any_output(0, extent);
  return call.prepare(
      Cast{extent, call.any_input(0, extent), const_cast<void*>(y.data), y.batch, y.row, y.col, y.element});
}

Result<PreparedCall> read_axpby(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(Axpby{extent, call.input(0, extent), call.input(1, extent), call.output(0, extent),
                            call.real("alpha", 1), call.real("beta", 1)});
}

Result<PreparedCall> read_mul(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(Mul{extent, call.input(0, extent), call.input(1, extent), call.output(0, extent)});
}

Result<PreparedCall> read_scale_by(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(
      ScaleBy{extent, call.input(0, extent), call.input_vector(1, 1), call.output(0, extent)});
}

Result<PreparedCall> read_softcap(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(Softcap{extent, call.input(0, extent), call.output(0, extent), call.real("cap")});
}

Result<PreparedCall> read_softcap_backward(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(SoftcapBackward{extent, call.input(0, extent), call.input(1, extent),
                                      call.output(0, extent), call.real("cap")});
}

Result<PreparedCall> read_activation_backward(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const auto activation = activation_of(call.attributes().text("activation"));
  call.require(
      activation == Activation::sigmoid || activation == Activation::tanh || activation == Activation::relu,
      "the CUDA kernel knows the gradients of sigmoid, tanh and relu, not of '" +
          call.attributes().text("activation") + "'");
  return call.prepare(ActivationBackward{extent, call.input(0, extent), call.input(1, extent),
                                         call.output(0, extent), activation.value_or(Activation::relu)});
}

KernelPath cast_path(DType input) {
  return {.op = "cast",
          .summary = "one thread an element, rounded to nearest even",
          .model = elementwise_model,
          .read = read_cast,
          .input = input,
          .factors = 1,
          .stores = {DType::f32, DType::f16, DType::bf16}};
}

}  // namespace

std::vector<Path> elementwise_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      cast_path(DType::f32),
      cast_path(DType::f16),
      cast_path(DType::bf16),
      {"axpby", "one thread an element", elementwise_model, read_axpby},
      {"mul", "one thread an element", elementwise_model, read_mul},
      {"scale_by", "one thread an element", elementwise_model, read_scale_by},
      {"softcap", "one thread an element, tanhf", elementwise_model, read_softcap},
      {"softcap_backward", "one thread an element", elementwise_model, read_softcap_backward},
      {"activation_backward", "one thread an element", elementwise_model, read_activation_backward},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
