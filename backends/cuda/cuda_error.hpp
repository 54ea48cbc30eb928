#pragma once
#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace parity::cuda {

/// Whether an error has destroyed the process's CUDA context: every later call in the process fails too.
bool is_sticky(cudaError_t error);

/// "reading D: an illegal memory access was encountered (cudaErrorIllegalAddress, 700)", with what to do for
/// the errors that a user can do something about.
std::string describe(cudaError_t error, std::string_view doing);

/// cudaSuccess -> nothing; out of memory -> unsupported; anything else -> device_failed.
Result<void> check(cudaError_t error, std::string_view doing);

}  // namespace parity::cuda
