#include "backends/cuda/element_loop.cuh"
#include "backends/cuda/inverse_sqrt.cuh"
#include "backends/cuda/row_loop.cuh"
#include "backends/cuda/rows_kernels.hpp"

namespace parity::cuda {

using std::int64_t;
using RowLanes = Lanes<row_lanes>;

static __device__ void row(const RmsNorm& p, const RowLanes& lanes, int64_t index) {
  const int64_t r = index / p.groups, first = index % p.groups * p.size;
  float chain = 0.0f;
  for (int64_t c = lanes.lane(); c < p.size; c += row_lanes) {
    const float x = p.x(r, first + c);
    chain = __fmaf_rn(x, x, chain);
  }
  const float mean = __fdiv_rn(lanes.sum(chain), static_cast<float>(p.size));
  const float scale = inverse_sqrt(__fadd_rn(mean, p.eps));
  for (int64_t c = lanes.lane(); c < p.size; c += row_lanes) {
    const float y = __fmul_rn(p.x(r, first + c), scale);
    p.y(r, first + c) = p.weight.data == nullptr ? y : __fmul_rn(y, p.weight[c]);
  }
  if (lanes.lane() == 0) p.r(r, index % p.groups) = scale;
}

static __device__ void row(const RmsNormBackward& p, const RowLanes& lanes, int64_t index) {
  const int64_t r = index / p.groups, first = index % p.groups * p.size;
  const float scale = p.r(r, index % p.groups);
  const auto weighted = [&](int64_t c) {
    const float dy = p.dy(r, first + c);
    return p.weight.data == nullptr ? dy : __fmul_rn(dy, p.weight[c]);
  };
  float chain = 0.0f;
  for (int64_t c = lanes.lane(); c < p.size; c += row_lanes)
    chain = __fmaf_rn(weighted(c), __fmul_rn(p.x(r, first + c), scale), chain);
  const float q = __fdiv_rn(lanes.sum(chain), static_cast<float>(p.size));
  for (int64_t c = lanes.lane(); c < p.size; c += row_lanes) {
    const float normalised = __fmul_rn(p.x(r, first + c), scale);
    p.dx(r, first + c) = __fmul_rn(scale, __fsub_rn(weighted(c), __fmul_rn(normalised, q)));
  }
}

static __device__ void element(const RmsNormWeightGradient& p, int64_t, int64_t, int64_t c) {
  float chain = 0.0f;
  for (int64_t r = 0; r < p.count; ++r) chain = __fmaf_rn(p.dy(r, c), __fmul_rn(p.x(r, c), p.r[r]), chain);
  p.dw[c] = chain;
}

/// 1 / |v| of `size` columns from `first` on; 0 for a zero vector.
static __device__ float inverse_length(const Input& v, const RowLanes& lanes, int64_t r, int64_t first,
                                       int64_t size) {
  float chain = 0.0f;
  for (int64_t c = lanes.lane(); c < size; c += row_lanes) {
    const float x = v(r, first + c);
    chain = __fmaf_rn(x, x, chain);
  }
  const float square = lanes.sum(chain);
  return square > 0.0f ? inverse_sqrt(square) : 0.0f;
}

static __device__ void row(const Xsa& p, const RowLanes& lanes, int64_t index) {
  const int64_t r = index / p.heads, head = index % p.heads;
  const int64_t first = head * p.size, first_v = head / p.group * p.size;
  const float inverse = inverse_length(p.v, lanes, r, first_v, p.size);
  float chain = 0.0f;
  for (int64_t c = lanes.lane(); c < p.size; c += row_lanes)
    chain = __fmaf_rn(p.y(r, first + c), __fmul_rn(p.v(r, first_v + c), inverse), chain);
  const float a = lanes.sum(chain);
  for (int64_t c = lanes.lane(); c < p.size; c += row_lanes) {
    const float unit = __fmul_rn(p.v(r, first_v + c), inverse);
    p.o(r, first + c) = __fsub_rn(p.y(r, first + c), __fmul_rn(a, unit));
  }
}

static __device__ void row(const XsaBackward& p, const RowLanes& lanes, int64_t index) {
  const int64_t r = index / p.kv_heads, kv = index % p.kv_heads, first_v = kv * p.size;
  const float inverse = inverse_length(p.v, lanes, r, first_v, p.size);
  for (int64_t g = 0; g < p.group; ++g) {
    const int64_t first = (kv * p.group + g) * p.size;
    float chain_a = 0.0f, chain_da = 0.0f;
    for (int64_t c = lanes.lane(); c < p.size; c += row_lanes) {
      const float unit = __fmul_rn(p.v(r, first_v + c), inverse);
      chain_a = __fmaf_rn(p.y(r, first + c), unit, chain_a);
      chain_da = __fmaf_rn(p.d_o(r, first + c), unit, chain_da);
    }
    const float a = lanes.sum(chain_a), da = -lanes.sum(chain_da);
    const auto unit_gradient = [&](int64_t c) {
      return __fsub_rn(__fmul_rn(da, p.y(r, first + c)), __fmul_rn(a, p.d_o(r, first + c)));
    };
    float chain = 0.0f;
    for (int64_t c = lanes.lane(); c < p.size; c += row_lanes)
      chain = __fmaf_rn(__fmul_rn(p.v(r, first_v + c), inverse), unit_gradient(c), chain);
    const float along = lanes.sum(chain);
    for (int64_t c = lanes.lane(); c < p.size; c += row_lanes) {
      const float unit = __fmul_rn(p.v(r, first_v + c), inverse);
      p.dy(r, first + c) = __fadd_rn(p.d_o(r, first + c), __fmul_rn(da, unit));
      const float part = __fmul_rn(__fsub_rn(unit_gradient(c), __fmul_rn(unit, along)), inverse);
      // The heads of the group in turn; each column belongs to one thread.
      p.dv(r, first_v + c) = g == 0 ? part : __fadd_rn(p.dv(r, first_v + c), part);
    }
  }
}

cudaError_t launch(const RmsNorm& p, cudaStream_t stream) {
  return launch_rows<row_lanes>(p, stream);
}
cudaError_t launch(const RmsNormBackward& p, cudaStream_t stream) {
  return launch_rows<row_lanes>(p, stream);
}
cudaError_t launch(const RmsNormWeightGradient& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const Xsa& p, cudaStream_t stream) {
  return launch_rows<row_lanes>(p, stream);
}
cudaError_t launch(const XsaBackward& p, cudaStream_t stream) {
  return launch_rows<row_lanes>(p, stream);
}

}  // namespace parity::cuda
