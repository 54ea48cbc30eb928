#include "backends/cuda/attention_kernels.hpp"
#include "backends/cuda/row_loop.cuh"

namespace parity::cuda {
namespace {

using std::int64_t;
using RowLanes = Lanes<row_lanes>;

/// Chain of fma over the columns of a head.
__device__ float dot(const Input& x, int64_t x_row, int64_t x_first, const Input& y, int64_t y_row,
                     int64_t y_first, int64_t size) {
  float chain = 0.0f;
  for (int64_t c = 0; c < size; ++c) chain = __fmaf_rn(x(x_row, x_first + c), y(y_row, y_first + c), chain);
  return chain;
}

/// One query row in one head, and the keys of its batch entry that it may see.
struct Query {
  int64_t row, head, first, first_kv;  ///< first columns of the head in Q and in K and V
  int64_t key_row, keys;               ///< row of key 0, and how many

  __device__ Query(const AttentionInputs& in, int64_t query_row, int64_t query_head)
      : row(query_row),
        head(query_head),
        first(query_head * in.size),
        first_kv(query_head / (in.heads / in.kv_heads) * in.size),
        key_row(query_row - query_row % in.seq),
        keys(in.causal ? query_row % in.seq + 1 : in.seq) {}
};

__device__ bool takes_part(const AttentionInputs& in, int64_t key_row) {
  return in.valid.data == nullptr || in.valid[key_row] != 0;
}

__device__ float score(const AttentionInputs& in, const Query& q, int64_t key_row) {
  return __fmul_rn(in.scale, dot(in.q, q.row, q.first, in.k, key_row, q.first_kv, in.size));
}

struct Softmax {
  float maximum, sum;
  bool any;  ///< whether there is a key at all
};

/// exp(score - maximum) of every key in `weights` (0 for keys that take no part), their maximum and their sum
/// in key order. Called by all threads; afterwards all may read `weights`.
__device__ Softmax softmax(const AttentionInputs& in, const Query& q, const RowLanes& lanes, float* weights) {
  __shared__ float total;
  float largest = -INFINITY, present = 0.0f;
  for (int64_t j = lanes.lane(); j < q.keys; j += row_lanes) {
    if (!takes_part(in, q.key_row + j)) continue;
    weights[j] = score(in, q, q.key_row + j);
    largest = fmaxf(largest, weights[j]);
    present = 1.0f;
  }
  Softmax s;
  s.maximum = lanes.maximum(largest);
  s.any = lanes.maximum(present) > 0.0f;
  for (int64_t j = lanes.lane(); j < q.keys; j += row_lanes)
    weights[j] = takes_part(in, q.key_row + j) ? expf(__fsub_rn(weights[j], s.maximum)) : 0.0f;
  __syncthreads();
  if (lanes.lane() == 0) {
    float chain = 0.0f;
    for (int64_t j = 0; j < q.keys; ++j) chain = __fadd_rn(chain, weights[j]);
    total = chain;
  }
  __syncthreads();
  s.sum = total;
  return s;
}

__global__ void __launch_bounds__(row_lanes) attention_kernel(const __grid_constant__ Attention p) {
  extern __shared__ float weights[];
  __shared__ float shared[row_lanes];
  const RowLanes lanes{shared};
  for (int64_t i = blockIdx.x; i < p.in.count * p.in.heads; i += gridDim.x) {
    const Query q(p.in, i / p.in.heads, i % p.in.heads);
    const Softmax s = softmax(p.in, q, lanes, weights);
    for (int64_t c = lanes.lane(); c < p.in.size; c += row_lanes) {
      float chain = 0.0f;
      for (int64_t j = 0; j < q.keys; ++j)
        if (takes_part(p.in, q.key_row + j))
          chain = __fmaf_rn(weights[j], p.in.v(q.key_row + j, q.first_kv + c), chain);
      p.o(q.row, q.first + c) = s.any ? __fdiv_rn(chain, s.sum) : 0.0f;
    }
    __syncthreads();  // before the next query overwrites the weights
  }
}

/// Three values a query and head.
struct Statistics {
  float* data;
  int64_t count;
  __device__ float& maximum(int64_t i) const { return data[i]; }
  __device__ float& sum(int64_t i) const { return data[count + i]; }
  __device__ float& row_sum(int64_t i) const { return data[2 * count + i]; }
};
__device__ Statistics statistics_of(const AttentionBackward& p) {
  return {p.statistics, p.in.count * p.in.heads};
}

/// dQ, and each query's statistics.
__global__ void __launch_bounds__(row_lanes)
    attention_query_gradient(const __grid_constant__ AttentionBackward p) {
  extern __shared__ float weights[];  // seq of P, then seq of dP
  float* const gradients = weights + p.in.seq;
  __shared__ float shared[row_lanes];
  __shared__ float row_sum;
  const RowLanes lanes{shared};
  const Statistics statistics = statistics_of(p);
  for (int64_t i = blockIdx.x; i < p.in.count * p.in.heads; i += gridDim.x) {
    const Query q(p.in, i / p.in.heads, i % p.in.heads);
    const Softmax s = softmax(p.in, q, lanes, weights);
    for (int64_t j = lanes.lane(); j < q.keys; j += row_lanes) {
      if (!takes_part(p.in, q.key_row + j)) continue;
      weights[j] = __fdiv_rn(weights[j], s.sum);
      gradients[j] = dot(p.d_o, q.row, q.first, p.in.v, q.key_row + j, q.first_kv, p.in.size);
    }
    __syncthreads();
    if (lanes.lane() == 0) {
      float chain = 0.0f;
      for (int64_t j = 0; j < q.keys; ++j)
        if (takes_part(p.in, q.key_row + j)) chain = __fmaf_rn(weights[j], gradients[j], chain);
      row_sum = chain;
      statistics.maximum(i) = s.maximum;
      statistics.sum(i) = s.sum;
      statistics.row_sum(i) = chain;
    }
    __syncthreads();
    for (int64_t c = lanes.lane(); c < p.in.size; c += row_lanes) {
      float chain = 0.0f;
      for (int64_t j = 0; j < q.keys; ++j) {
        if (!takes_part(p.in, q.key_row + j)) continue;
        const float ds = __fmul_rn(weights[j], __fsub_rn(gradients[j], row_sum));
        chain = __fmaf_rn(ds, p.in.k(q.key_row + j, q.first_kv + c), chain);
      }
      p.dq(q.row, q.first + c) = __fmul_rn(p.in.scale, chain);
    }
    __syncthreads();
  }
}

/// dK and dV of one key row and kv head, one chain each: the heads of the group in turn, of each the queries
/// in order, row_lanes at a time. Each column belongs to one thread, which alone touches its place in the
/// chains.
__global__ void __launch_bounds__(row_lanes)
    attention_key_gradient(const __grid_constant__ AttentionBackward p) {
  extern __shared__ float chains[];  // size of dK, then size of dV
  __shared__ float probability[row_lanes], score_gradient[row_lanes];
  const int lane = static_cast<int>(threadIdx.x);
  const AttentionInputs& in = p.in;
  const Statistics statistics = statistics_of(p);
  const int64_t group = in.heads / in.kv_heads;
  for (int64_t i = blockIdx.x; i < in.count * in.kv_heads; i += gridDim.x) {
    const int64_t key_row = i / in.kv_heads, kv = i % in.kv_heads, first_kv = kv * in.size;
    const int64_t entry = key_row - key_row % in.seq;
    const bool part = takes_part(in, key_row);
    for (int64_t c = lane; c < in.size; c += row_lanes) chains[c] = chains[in.size + c] = 0.0f;
    for (int64_t g = 0; part && g < group; ++g) {
      const int64_t head = kv * group + g;
      for (int64_t t = in.causal ? key_row % in.seq : 0; t < in.seq; t += row_lanes) {
        const int64_t many = in.seq - t < row_lanes ? in.seq - t : row_lanes;
        if (lane < many) {
          const Query q(in, entry + t + lane, head);
          const int64_t at = q.row * in.heads + head;
          const float weight = expf(__fsub_rn(score(in, q, key_row), statistics.maximum(at)));
          const float share = __fdiv_rn(weight, statistics.sum(at));
          const float gradient = dot(p.d_o, q.row, q.first, in.v, key_row, first_kv, in.size);
          probability[lane] = share;
          score_gradient[lane] = __fmul_rn(share, __fsub_rn(gradient, statistics.row_sum(at)));
        }
        __syncthreads();
        for (int64_t c = lane; c < in.size; c += row_lanes) {
          float dk = chains[c], dv = chains[in.size + c];
          for (int64_t m = 0; m < many; ++m) {
            dk = __fmaf_rn(score_gradient[m], in.q(entry + t + m, head * in.size + c), dk);
            dv = __fmaf_rn(probability[m], p.d_o(entry + t + m, head * in.size + c), dv);
          }
          chains[c] = dk;
          chains[in.size + c] = dv;
        }
        __syncthreads();
      }
    }
    for (int64_t c = lane; c < in.size; c += row_lanes) {
      p.dk(key_row, first_kv + c) = part ? __fmul_rn(in.scale, chains[c]) : 0.0f;
      p.dv(key_row, first_kv + c) = chains[in.size + c];
    }
  }
}

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>(count < (1 << 20) ? count : 1 << 20);  // the kernels stride over the rest
}

/// Dynamic shared memory for `count` floats: whole groups of four, for nvcc reads chains over them in vectors
/// and lets the last vector reach past the end.
std::size_t shared_floats(int64_t count) {
  return static_cast<std::size_t>((count + 3) / 4 * 4) * sizeof(float);
}

}  // namespace

cudaError_t launch(const Attention& p, cudaStream_t stream) {
  const int64_t queries = p.in.count * p.in.heads;
  if (queries == 0) return cudaSuccess;
  attention_kernel<<<blocks_for(queries), row_lanes, shared_floats(p.in.seq), stream>>>(p);
  return cudaGetLastError();
}

cudaError_t launch(const AttentionBackward& p, cudaStream_t stream) {
  const int64_t queries = p.in.count * p.in.heads;
  if (queries == 0) return cudaSuccess;
  attention_query_gradient<<<blocks_for(queries), row_lanes, shared_floats(2 * p.in.seq), stream>>>(p);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  attention_key_gradient<<<blocks_for(p.in.count * p.in.kv_heads), row_lanes, shared_floats(2 * p.in.size),
                           stream>>>(p);
  return cudaGetLastError();
}

}  // namespace parity::cuda
