#pragma once
#include <memory>
#include <string>

#include "backends/cuda/cublas_loader.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::cuda {

/// What decides which paths a device has and what they compute. Plain data, so that tests can make it up.
struct DeviceTraits {
  int ordinal = 0;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 1;
  std::string no_image;  ///< why this build's kernels cannot run here; empty: they can
  std::shared_ptr<const CublasLibrary> cublas;
  std::string no_cublas;       ///< why `cublas` is empty
  bool tf32_disabled = false;  ///< NVIDIA_TF32_OVERRIDE=0 in the environment

  int capability() const { return major * 10 + minor; }
};

struct QueriedDevice {
  DeviceTraits traits;
  DeviceInfo info;
};
/// Asks the runtime about device `ordinal` and makes it current. `cublas` is the library or the reason why
/// not.
Result<QueriedDevice> query_device(int ordinal, const Result<std::shared_ptr<const CublasLibrary>>& cublas);

/// "13.0" of 13000, as CUDA encodes versions.
std::string version_text(int version);

}  // namespace parity::cuda
