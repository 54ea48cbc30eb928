// The Vulkan backend with faulty shaders, for `parity faults`: a module of its own, so that no fault is in
// the production one.
#include <algorithm>

#include "backends/vulkan/faults/mutant.hpp"
#include "backends/vulkan/vulkan_backend.hpp"

extern "C" {

__attribute__((visibility("default"))) const char* parity_backend_abi() {
  return parity::backend_abi;
}

/// No backend unless the options name a fault that is planted here.
__attribute__((visibility("default"))) parity::Backend* parity_backend_create(
    const parity::BackendOptions* options) {
  using namespace parity::vulkan;
  if (options == nullptr || std::ranges::find(mutants(), options->fault, &Mutant::fault) == mutants().end())
    return nullptr;
  const auto shaders = [fault = options->fault](Shader shader) {
    for (const Mutant& mutant : mutants())
      if (mutant.fault == fault && mutant.shader == shader) return mutant.words;
    return spirv_of(shader);
  };
  return make_vulkan_backend(*options, shaders).release();
}
}
