// The entry points of the loadable module (backend.hpp).
#include "backends/cuda/cuda_backend.hpp"

extern "C" {

__attribute__((visibility("default"))) const char* parity_backend_abi() {
  return parity::backend_abi;
}

__attribute__((visibility("default"))) parity::Backend* parity_backend_create(
    const parity::BackendOptions* options) {
  const parity::BackendOptions chosen = options != nullptr ? *options : parity::BackendOptions{};
  if (!chosen.fault.empty()) return nullptr;  // healthy kernels only
  return parity::make_cuda_backend(chosen).release();
}
}
