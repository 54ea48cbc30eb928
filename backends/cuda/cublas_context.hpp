#pragma once
#include <memory>

#include "backends/cuda/cublas_loader.hpp"
#include "backends/cuda/device_memory.hpp"

namespace parity::cuda {

/// A cuBLAS handle on one stream with a workspace of its own, for the current device. Reductions in less than
/// the accumulate precision (split-K partial sums in fp16) are disallowed, for the paths declare fp32.
class CublasContext {
 public:
  static Result<std::unique_ptr<CublasContext>> create(std::shared_ptr<const CublasLibrary> library,
                                                       cudaStream_t stream);
  ~CublasContext();
  CublasContext(const CublasContext&) = delete;
  CublasContext& operator=(const CublasContext&) = delete;

  const CublasLibrary& library() const { return *library_; }
  CublasHandle handle() const { return handle_; }
  /// Gives the handle and its workspace up without destroying them: after a run that never ended.
  void abandon();

 private:
  CublasContext(std::shared_ptr<const CublasLibrary> library, CublasHandle handle)
      : library_(std::move(library)), handle_(handle) {}
  std::shared_ptr<const CublasLibrary> library_;
  CublasHandle handle_ = nullptr;
  DeviceMemory workspace_;
};

}  // namespace parity::cuda
