#pragma once
#include <memory>

#include "backends/vulkan/shader_library.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::vulkan {

/// The Vulkan devices of every driver on the machine. Opens the loader on the first call of devices().
std::unique_ptr<Backend> make_vulkan_backend(const BackendOptions& options, ShaderSource shaders = spirv_of);

}  // namespace parity::vulkan
