#pragma once
#include "backends/cuda/cuda_error.hpp"
#include "backends/cuda/step.hpp"

namespace parity::cuda {

/// A step that starts one kernel of a product; a result without elements needs none.
template <class Arguments>
class KernelStep final : public Step {
 public:
  using Launch = cudaError_t (*)(const Arguments& arguments, int multiprocessors, cudaStream_t stream);

  /// `doing`: what the error says was tried.
  KernelStep(Launch launch, const char* doing, const Arguments& arguments, int multiprocessors)
      : launch_(launch), doing_(doing), arguments_(arguments), multiprocessors_(multiprocessors) {}

  Result<void> launch(cudaStream_t stream) override {
    if (arguments_.m == 0 || arguments_.n == 0 || arguments_.batch == 0) return {};
    return check(launch_(arguments_, multiprocessors_, stream), doing_);
  }

 private:
  Launch launch_;
  const char* doing_;
  Arguments arguments_;
  int multiprocessors_;
};

template <class Arguments>
Result<std::unique_ptr<Step>> make_kernel_step(const StepContext& context,
                                               typename KernelStep<Arguments>::Launch launch,
                                               const char* doing, const Arguments& arguments) {
  return std::make_unique<KernelStep<Arguments>>(launch, doing, arguments, context.traits->multiprocessors);
}

}  // namespace parity::cuda
