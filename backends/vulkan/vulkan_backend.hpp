#pragma once
#include <memory>

#include "harness/ladder/backend.hpp"

namespace parity::vulkan {

/// The Vulkan devices of every driver on the machine. Opens the loader on the first call of devices().
std::unique_ptr<Backend> make_vulkan_backend(const BackendOptions& options);

}  // namespace parity::vulkan
