#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "backends/cuda/paths.hpp"
#include "backends/cuda/strided_copy.hpp"
#include "harness/ladder/backend.hpp"
#include "harness/ladder/guarded_buffer.hpp"

namespace parity::cuda {

/// A Program on one CUDA device: a guarded buffer per tensor that is not a view, one stream, one step per
/// call.
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
  Result<void> advance() override;
  Result<std::vector<GuardDamage>> check_guards() override;

 private:
  struct Buffer {
    TensorSpec spec;
    GuardedLayout layout;
    DeviceMemory memory;         ///< with its guard zones; empty for a view
    std::byte* first = nullptr;  ///< the first element
  };
  /// One pair of Program::carries.
  struct CarryCopies {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::vector<RowsCopy> rows;
    std::string what;
  };

  CudaSession(const DeviceTraits& traits, double timeout_seconds)
      : traits_(traits), timeout_(timeout_seconds) {}
  Result<void> allocate_buffer(const TensorSpec& spec);
  /// Finds a view's place in its root, whose buffer is there already.
  Result<void> place_view(Buffer& view);
  Result<void> plan_carries(const std::vector<Carry>& carries);
  /// The session's device made current, and the session alive.
  Result<void> enter();
  /// Remembers an error after which the session is of no use, and passes it on.
  tl::unexpected<Error> die(Error error);
  Result<void> copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                    const std::string& doing);
  /// Between a host tensor and a view of the same strides: elements only, for what lies between them belongs
  /// to other views.
  Result<void> copy_elements(const TensorSpec& spec, std::byte* to, const std::byte* from,
                             cudaMemcpyKind kind, const std::string& doing);
  /// Waits for `event`, up to the time limit.
  Result<void> wait(cudaEvent_t event, std::string_view doing);
  Result<Buffer*> buffer(TensorId id);

  const DeviceTraits& traits_;
  std::chrono::duration<double> timeout_;
  Stream stream_;
  std::vector<Event> marks_;  ///< before the first step, and behind each
  std::vector<Buffer> buffers_;
  StepContext context_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<CarryCopies> carries_;
  std::string dead_;    ///< why; empty: alive
  bool hangs_ = false;  ///< work that never ended is still on the device
};

}  // namespace parity::cuda
