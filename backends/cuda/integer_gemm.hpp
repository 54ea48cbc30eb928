#pragma once
// Products of 8-bit integers, as host and .cu files share them. Plain data, as in kernels.hpp.
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// D[b] = alpha * A[b] * B[b] + beta * C[b] modulo 2^32: A is m x k, B is k x n as read through their strides
/// (a transposition is a swap of `row` and `col`; a batch stride of 0 repeats one matrix).
/// m, n, batch >= 1; k >= 0.
struct IntegerGemm {
  int m = 0, n = 0, k = 0, batch = 0;
  View<const std::int8_t> a, b;
  std::int32_t alpha = 1, beta = 0;
  View<const std::int32_t> c;  ///< data == nullptr: no C
  View<std::int32_t> d;
};

// Every launch returns the launch's own error; it does not wait.

/// By dp4a on ordinary arithmetic units.
cudaError_t launch_tiled_i8(const IntegerGemm& p, int multiprocessors, cudaStream_t stream);
/// By 16x16x16 tensor-core tiles; the K tail is filled with zeros.
cudaError_t launch_wmma_i8(const IntegerGemm& p, int multiprocessors, cudaStream_t stream);
/// beta * C alone: what a product of no terms comes to.
cudaError_t launch_integer_epilogue(const IntegerGemm& p, cudaStream_t stream);

}  // namespace parity::cuda
