#include "backends/cuda/element_loop.cuh"
#include "backends/cuda/rope_kernels.hpp"
#include "backends/cuda/row_loop.cuh"

namespace parity::cuda {

using std::int64_t;

static __device__ void element(const Rope& p, int64_t, int64_t row, int64_t c) {
  const float x = p.x(row, c);
  const int64_t i = c % p.head_dim;  // inside the head
  if (i >= p.rotary) {
    p.y(row, c) = x;
    return;
  }
  const int64_t half = p.rotary / 2;
  const bool split = p.pairing == Pairing::half_split;
  const bool first = split ? i < half : i % 2 == 0;
  const int64_t pair = split ? i % half : i / 2;
  const int64_t distance = split ? half : 1;
  const float other = p.x(row, first ? c + distance : c - distance);
  const float cosine = p.cos(row % p.seq, pair), sine = p.sin(row % p.seq, pair);
  const float straight = __fmul_rn(x, cosine), crossed = __fmul_rn(other, sine);
  // First of the pair: x1 c + x2 s; second: x2 c - x1 s; the inverse exchanges the signs.
  p.y(row, c) = first != p.inverse ? __fadd_rn(straight, crossed) : __fsub_rn(straight, crossed);
}

static __device__ void element(const HeadScale& p, int64_t, int64_t row, int64_t c) {
  p.y(row, c) = __fmul_rn(p.x(row, c), p.gain[c / p.head_dim]);
}

static __device__ void row(const HeadScaleGainGradient& p, const Lanes<whole_lanes>& lanes, int64_t head) {
  float chain = 0.0f;
  for (int64_t k = lanes.lane(); k < p.count * p.head_dim; k += whole_lanes) {
    const int64_t r = k / p.head_dim, c = head * p.head_dim + k % p.head_dim;
    chain = __fmaf_rn(p.dy(r, c), p.x(r, c), chain);
  }
  const float sum = lanes.sum(chain);
  if (lanes.lane() == 0) p.dgain[head] = sum;
}

cudaError_t launch(const Rope& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const HeadScale& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const HeadScaleGainGradient& p, cudaStream_t stream) {
  return launch_rows<whole_lanes>(p, stream);
}

}  // namespace parity::cuda
