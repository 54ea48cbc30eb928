#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "backends/cuda/cublas_context.hpp"
#include "backends/cuda/device_memory.hpp"
#include "backends/cuda/device_traits.hpp"
#include "backends/cuda/problem.hpp"

namespace parity::cuda {

/// One op call, ready to run: everything it needs is allocated, it only launches.
class Step {
 public:
  virtual ~Step() = default;
  virtual Result<void> launch(cudaStream_t stream) = 0;
};

/// What a step is made from. Lives as long as the session.
struct StepContext {
  const DeviceTraits* traits = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<void*> tensors;             ///< device address of each tensor's first element, by TensorId
  std::unique_ptr<CublasContext> cublas;  ///< made by the first step that needs it

  void* address(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
};

using MakeStep = Result<std::unique_ptr<Step>> (*)(StepContext& context, const GemmProblem& problem);

Result<std::unique_ptr<Step>> make_tiled_step(StepContext& context, const GemmProblem& problem);
Result<std::unique_ptr<Step>> make_wmma_step(StepContext& context, const GemmProblem& problem);
/// Plain fp32, pedantic: no TF32 and no emulation whatever the environment says.
Result<std::unique_ptr<Step>> make_cublas_f32_step(StepContext& context, const GemmProblem& problem);
Result<std::unique_ptr<Step>> make_cublas_tf32_step(StepContext& context, const GemmProblem& problem);
/// fp16 or bf16 inputs, FP32 accumulation.
Result<std::unique_ptr<Step>> make_cublas_narrow_step(StepContext& context, const GemmProblem& problem);

/// Addresses and strides for the kernels; transpositions become swapped strides.
GemmArguments gemm_arguments(const StepContext& context, const GemmProblem& problem);

}  // namespace parity::cuda
