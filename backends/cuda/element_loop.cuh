#pragma once
// Kernels with one thread an element: `P` holds the arguments and `P::extent` the number of threads; an
// overload of element(const P&, batch, row, col) does the work.
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

inline constexpr int element_threads = 256;

template <class P>
__global__ void __launch_bounds__(element_threads)
    element_kernel(const __grid_constant__ P p, std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * element_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * element_threads + threadIdx.x; i < elements;
       i += step) {
    const std::int64_t row = i / p.extent.cols;
    element(p, row / p.extent.rows, row % p.extent.rows, i % p.extent.cols);
  }
}

template <class P>
cudaError_t launch_elements(const P& p, cudaStream_t stream) {
  const std::int64_t elements = p.extent.elements();
  if (elements == 0) return cudaSuccess;
  const std::int64_t blocks = (elements + element_threads - 1) / element_threads;
  element_kernel<P>
      <<<static_cast<unsigned>(blocks < 65536 ? blocks : 65536), element_threads, 0, stream>>>(p, elements);
  return cudaGetLastError();
}

}  // namespace parity::cuda
