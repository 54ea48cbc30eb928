#include "backends/cuda/trace_kernels.hpp"

namespace parity::cuda {

using std::int64_t;
using std::uint32_t;

static __device__ uint32_t bits_of(const TraceScan& p, int64_t i) {
  const int64_t row = i / p.cols, batch = row / p.rows_of_matrix;
  const int64_t at = batch * p.x.batch + row % p.rows_of_matrix * p.x.row + i % p.cols * p.x.col;
  return p.integers || p.x.element == Element::f32 ? static_cast<const uint32_t*>(p.x.data)[at]
                                                   : static_cast<const std::uint16_t*>(p.x.data)[at];
}

/// |x| of an int32 as the bits of an fp32 number, what does not fit cut off.
static __device__ uint32_t magnitude_of_integer(uint32_t bits) {
  const uint32_t size = static_cast<std::int32_t>(bits) < 0 ? 0u - bits : bits;
  if (size == 0) return 0;
  const uint32_t exponent = 31u - static_cast<uint32_t>(__clz(static_cast<int>(size)));
  const uint32_t fraction = exponent <= 23u ? size << (23u - exponent) : size >> (exponent - 23u);
  return (exponent + 127u) << 23 | (fraction & 0x7fffffu);
}

/// |x| as the bits of an fp32 number; a NaN or an infinity stays one.
static __device__ uint32_t magnitude_of(Element element, uint32_t bits) {
  if (element == Element::f32) return bits & 0x7fffffffu;
  if (element == Element::bf16) return (bits & 0x7fffu) << 16;
  const uint32_t exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
  if (exponent == 31u) return 0x7f800000u | fraction << 13;
  if (exponent > 0u) return (exponent + 112u) << 23 | fraction << 13;
  return fraction == 0u ? 0u : __float_as_uint(static_cast<float>(fraction)) - (24u << 23);
}

static __device__ uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

__global__ void __launch_bounds__(whole_lanes) scan_kernel(const __grid_constant__ TraceScan p) {
  __shared__ uint32_t nans, infinities, first, unwritten, largest, hash;
  if (threadIdx.x == 0) {
    nans = infinities = unwritten = largest = hash = 0;
    first = 0xffffffffu;
  }
  __syncthreads();
  uint32_t own_nans = 0, own_infinities = 0, own_first = 0xffffffffu, own_unwritten = 0, own_largest = 0,
           own_hash = 0;
  for (int64_t i = threadIdx.x; i < p.count; i += whole_lanes) {
    const uint32_t bits = bits_of(p, i),
                   size = p.integers ? magnitude_of_integer(bits) : magnitude_of(p.x.element, bits);
    own_hash += mixed(bits ^ static_cast<uint32_t>(i + 1) * 0x9e3779b9u);
    own_unwritten += bits == p.unwritten;
    if (size < 0x7f800000u) {
      own_largest = size > own_largest ? size : own_largest;
    } else {
      own_nans += size > 0x7f800000u;
      own_infinities += size == 0x7f800000u;
      if (own_first == 0xffffffffu) own_first = static_cast<uint32_t>(i);
    }
  }
  atomicAdd(&nans, own_nans);
  atomicAdd(&infinities, own_infinities);
  atomicAdd(&unwritten, own_unwritten);
  atomicAdd(&hash, own_hash);
  atomicMin(&first, own_first);
  atomicMax(&largest, own_largest);
  __syncthreads();
  if (threadIdx.x != 0) return;
  const uint32_t words[6] = {nans, infinities, first, unwritten, largest, hash};
  for (int i = 0; i < 6; ++i) p.s[i] = static_cast<std::int32_t>(words[i]);
}

cudaError_t launch(const TraceScan& p, cudaStream_t stream) {
  scan_kernel<<<1, whole_lanes, 0, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace parity::cuda
