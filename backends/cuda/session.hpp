#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "backends/cuda/paths.hpp"
#include "harness/ladder/backend.hpp"
#include "harness/ladder/guarded_buffer.hpp"

namespace parity::cuda {

/// A Program on one CUDA device: a guarded buffer per tensor, one stream, one step per call.
class CudaSession final : public Session {
 public:
  /// `paths`: one per call, all legal. `traits` must outlive the session.
  static Result<std::unique_ptr<CudaSession>> load(const DeviceTraits& traits, const Program& program,
                                                   const std::vector<const Path*>& paths,
                                                   double timeout_seconds);
  ~CudaSession() override;

  Result<void> write(TensorId id, const Tensor& tensor) override;
  Result<RunTiming> run() override;
  Result<Tensor> read(TensorId id) override;
  Result<std::vector<GuardDamage>> check_guards() override;

 private:
  struct Buffer {
    TensorSpec spec;
    GuardedLayout layout;
    DeviceMemory memory;
  };

  CudaSession(const DeviceTraits& traits, double timeout_seconds)
      : traits_(traits), timeout_(timeout_seconds) {}
  Result<void> allocate_buffer(const TensorSpec& spec);
  /// The session's device made current, and the session alive.
  Result<void> enter();
  /// Remembers an error after which the session is of no use, and passes it on.
  tl::unexpected<Error> die(Error error);
  Result<void> copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                    const std::string& doing);
  /// Waits for `event`, up to the time limit.
  Result<void> wait(cudaEvent_t event, std::string_view doing);
  Result<Buffer*> buffer(TensorId id);

  const DeviceTraits& traits_;
  std::chrono::duration<double> timeout_;
  Stream stream_;
  Event start_, stop_;
  std::vector<Buffer> buffers_;
  StepContext context_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::string dead_;    ///< why; empty: alive
  bool hangs_ = false;  ///< work that never ended is still on the device
};

}  // namespace parity::cuda
