#pragma once
#include <memory>
#include <vector>

#include "backends/cuda/cublas_context.hpp"
#include "backends/cuda/device_memory.hpp"
#include "backends/cuda/device_traits.hpp"
#include "harness/ladder/program.hpp"

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

}  // namespace parity::cuda
