#pragma once
#include <memory>

#include "harness/ladder/backend.hpp"

namespace parity {

/// NVIDIA devices through the CUDA runtime: ids cuda:0, cuda:1, ...
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options);

}  // namespace parity
