#pragma once
// Kernels with one block a row. `P` holds the arguments, `P::rows()` the number of rows; an overload of
// row(const P&, Lanes<W>, index) does the work, called by all W threads together.
//
// The order of their sums is a promise, SummationOrder::strided: lane l takes terms l, l + W, ... into a
// chain of its own from +0, then lane i takes in lane i + h for h = W/2, W/4, ..., 1.
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// The threads of a block as the lanes of a reduction.
template <int W>
struct Lanes {
  static_assert(W >= 2 && (W & (W - 1)) == 0, "a halving tree over a power of two");
  static constexpr int width = W;
  float* shared;  ///< W floats

  __device__ int lane() const { return static_cast<int>(threadIdx.x); }

  /// The sum of every lane's value, in every lane.
  __device__ float sum(float value) const {
    return combine(value, [](float a, float b) { return __fadd_rn(a, b); });
  }
  /// The largest value; lanes without one bring -Inf. A NaN may be passed over.
  __device__ float maximum(float value) const {
    return combine(value, [](float a, float b) { return fmaxf(a, b); });
  }

 private:
  template <class Combine>
  __device__ float combine(float value, const Combine& combined) const {
    const int l = lane();
    shared[l] = value;
    __syncthreads();
#pragma unroll
    for (int half = W / 2; half > 0; half /= 2) {
      if (l < half) shared[l] = combined(shared[l], shared[l + half]);
      __syncthreads();
    }
    const float result = shared[0];
    __syncthreads();  // before the next reduction writes here
    return result;
  }
};

template <class P, int W>
__global__ void __launch_bounds__(W) row_kernel(const __grid_constant__ P p) {
  __shared__ float shared[W];
  const Lanes<W> lanes{shared};
  for (std::int64_t i = blockIdx.x; i < p.rows(); i += gridDim.x) row(p, lanes, i);
}

template <int W, class P>
cudaError_t launch_rows(const P& p, cudaStream_t stream) {
  const std::int64_t rows = p.rows();
  if (rows == 0) return cudaSuccess;
  row_kernel<P, W><<<static_cast<unsigned>(rows < (1 << 20) ? rows : 1 << 20), W, 0, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace parity::cuda
