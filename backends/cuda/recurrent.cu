#include "backends/cuda/element_loop.cuh"
#include "backends/cuda/epilogue.cuh"
#include "backends/cuda/recurrent_kernels.hpp"

namespace parity::cuda {

using std::int64_t;

static __device__ float one_minus(float x) {
  return __fsub_rn(1.0f, x);
}

/// (1 - z) n + z h
static __device__ float blend(float z, float n, float h) {
  return __fadd_rn(__fmul_rn(one_minus(z), n), __fmul_rn(z, h));
}

static __device__ void element(const GruGate& p, int64_t b, int64_t row, int64_t c) {
  p.y(b, row, c) = activate(p.activation, __fadd_rn(p.a(b, row, c), p.u(b, row, c)));
}

static __device__ void element(const GruGates& p, int64_t, int64_t row, int64_t c) {
  const int64_t h = p.extent.cols;
  const float r = sigmoid(__fadd_rn(p.a(row, c), p.u(row, c)));
  const float z = sigmoid(__fadd_rn(p.a(row, h + c), p.u(row, h + c)));
  const float n = tanhf(__fadd_rn(p.a(row, 2 * h + c), __fmul_rn(r, p.u(row, 2 * h + c))));
  p.r(row, c) = r;
  p.z(row, c) = z;
  p.n(row, c) = n;
  p.h_next(row, c) = blend(z, n, p.h(row, c));
}

static __device__ void element(const GruGatesBackward& p, int64_t, int64_t row, int64_t c) {
  const int64_t h = p.extent.cols;
  const float g = p.dh_next(row, c), r = p.r(row, c), z = p.z(row, c), n = p.n(row, c);
  const float dn = __fmul_rn(g, one_minus(z));
  const float da_n = __fmul_rn(dn, one_minus(__fmul_rn(n, n)));
  const float d_r = __fmul_rn(__fmul_rn(da_n, p.u(row, 2 * h + c)), __fmul_rn(r, one_minus(r)));
  const float d_z = __fmul_rn(__fmul_rn(g, __fsub_rn(p.h(row, c), n)), __fmul_rn(z, one_minus(z)));
  p.da(row, c) = d_r;
  p.da(row, h + c) = d_z;
  p.da(row, 2 * h + c) = da_n;
  p.du(row, c) = d_r;
  p.du(row, h + c) = d_z;
  p.du(row, 2 * h + c) = __fmul_rn(da_n, r);
  p.dh(row, c) = __fmul_rn(g, z);
}

static __device__ void element(const GruBlend& p, int64_t b, int64_t row, int64_t c) {
  p.h_next(b, row, c) = blend(p.z(b, row, c), p.n(b, row, c), p.h(b, row, c));
}

static __device__ void element(const GruBlendBackward& p, int64_t b, int64_t row, int64_t c) {
  const float g = p.dh_next(b, row, c), z = p.z(b, row, c);
  p.dz(b, row, c) = __fmul_rn(g, __fsub_rn(p.h(b, row, c), p.n(b, row, c)));
  p.dn(b, row, c) = __fmul_rn(g, one_minus(z));
  p.dh(b, row, c) = __fmul_rn(g, z);
}

cudaError_t launch(const GruGate& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const GruGates& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const GruGatesBackward& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const GruBlend& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const GruBlendBackward& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}

}  // namespace parity::cuda
