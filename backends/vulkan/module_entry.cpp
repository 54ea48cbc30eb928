// The two functions a loadable backend exports (harness/ladder/backend.hpp).
#include "backends/vulkan/vulkan_backend.hpp"

extern "C" {

__attribute__((visibility("default"))) const char* parity_backend_abi() {
  return parity::backend_abi;
}

__attribute__((visibility("default"))) parity::Backend* parity_backend_create(
    const parity::BackendOptions* options) {
  const parity::BackendOptions chosen = options != nullptr ? *options : parity::BackendOptions{};
  if (!chosen.fault.empty()) return nullptr;  // healthy kernels only
  return parity::vulkan::make_vulkan_backend(chosen).release();
}
}
