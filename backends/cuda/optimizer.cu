#include "backends/cuda/element_loop.cuh"
#include "backends/cuda/optimizer_kernels.hpp"
#include "backends/cuda/row_loop.cuh"

namespace parity::cuda {

using std::int64_t;
using WholeLanes = Lanes<whole_lanes>;

static __device__ float square_sum(const Input& x, const WholeLanes& lanes, int64_t count, int64_t cols) {
  float chain = 0.0f;
  for (int64_t k = lanes.lane(); k < count; k += whole_lanes) {
    const float value = x(k / cols, k % cols);
    chain = __fmaf_rn(value, value, chain);
  }
  return lanes.sum(chain);
}

static __device__ void row(const SquareSum& p, const WholeLanes& lanes, int64_t) {
  const float sum = square_sum(p.x, lanes, p.count, p.cols);
  if (lanes.lane() == 0) p.s[0] = sum;
}

static __device__ void row(const FrobeniusNormalize& p, const WholeLanes& lanes, int64_t) {
  const float length = __fadd_rn(__fsqrt_rn(square_sum(p.x, lanes, p.count, p.cols)), p.eps);
  for (int64_t k = lanes.lane(); k < p.count; k += whole_lanes) {
    const int64_t r = k / p.cols, c = k % p.cols;
    p.y(r, c) = __fdiv_rn(p.x(r, c), length);
  }
}

static __device__ void element(const ClipFactor& p, int64_t, int64_t, int64_t) {
  float sum = 0.0f;
  for (int64_t i = 0; i < p.count; ++i) sum = __fadd_rn(sum, p.s[i]);
  const float norm = __fsqrt_rn(sum);
  p.norm[0] = norm;
  const float quotient = __fdiv_rn(p.max_norm, __fadd_rn(norm, 1e-6f));
  p.factor[0] = quotient > 1.0f ? 1.0f : quotient;  // a NaN stays
}

static __device__ void element(const AdamW& p, int64_t b, int64_t r, int64_t c) {
  const float g = p.g(b, r, c);
  const float m = __fadd_rn(__fmul_rn(p.beta1, p.m(b, r, c)), __fmul_rn(p.one_minus_beta1, g));
  const float v = __fadd_rn(__fmul_rn(p.beta2, p.v(b, r, c)), __fmul_rn(p.one_minus_beta2, __fmul_rn(g, g)));
  const float root = __fadd_rn(__fsqrt_rn(__fdiv_rn(v, p.correction[1])), p.eps);
  const float step = __fdiv_rn(__fdiv_rn(m, p.correction[0]), root);
  p.m_next(b, r, c) = m;
  p.v_next(b, r, c) = v;
  p.p_next(b, r, c) = __fsub_rn(__fmul_rn(p.p(b, r, c), p.decay), __fmul_rn(p.lr, step));
}

static __device__ void element(const MuonMomentum& p, int64_t b, int64_t r, int64_t c) {
  const float g = p.g(b, r, c);
  const float next = __fadd_rn(__fmul_rn(p.mu, p.b(b, r, c)), g);
  p.b_next(b, r, c) = next;
  p.u(b, r, c) = __fadd_rn(g, __fmul_rn(p.mu, next));
}

cudaError_t launch(const SquareSum& p, cudaStream_t stream) {
  return launch_rows<whole_lanes>(p, stream);
}
cudaError_t launch(const ClipFactor& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const AdamW& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const MuonMomentum& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const FrobeniusNormalize& p, cudaStream_t stream) {
  return launch_rows<whole_lanes>(p, stream);
}

}  // namespace parity::cuda
