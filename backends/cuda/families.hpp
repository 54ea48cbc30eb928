#pragma once
// The families of ops that this backend has kernels for; each is one table in a file of its own.
#include "backends/cuda/paths.hpp"

namespace parity::cuda {

std::vector<Path> gemm_paths(const DeviceTraits& traits);  ///< gemm and linear
std::vector<Path> elementwise_paths(const DeviceTraits& traits);
std::vector<Path> recurrent_paths(const DeviceTraits& traits);
std::vector<Path> rows_paths(const DeviceTraits& traits);  ///< rms_norm and xsa
std::vector<Path> rope_paths(const DeviceTraits& traits);
std::vector<Path> attention_paths(const DeviceTraits& traits);
std::vector<Path> loss_paths(const DeviceTraits& traits);
std::vector<Path> embedding_paths(const DeviceTraits& traits);        ///< and gradient_reduction
std::vector<Path> optimizer_paths(const DeviceTraits& traits);        ///< and the norm of a gradient
std::vector<Path> device_function_paths(const DeviceTraits& traits);  ///< what `parity probe` asks about
std::vector<Path> trace_paths(const DeviceTraits& traits);

}  // namespace parity::cuda
