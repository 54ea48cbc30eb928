// tiled_f32: fp32 GEMM on ordinary arithmetic units. A block of 256 threads makes a BM x BN tile of the
// result, each thread TM x TN of it; tiles of A and B pass through shared memory, double-buffered, with the
// next tile fetched into registers while the present one is used.
//
// The order is a promise: each result is one chain of fma in k order from +0. So the last, partial tile runs
// over its own k only, for even a product of padding zeros can turn an accumulator of -0 into +0.
#include "backends/cuda/epilogue.cuh"
#include "backends/cuda/tile_launch.hpp"
#include "backends/cuda/tile_order.cuh"

namespace parity::cuda {
namespace {

constexpr int threads = 256;
constexpr int group = 4;  // elements fetched at once by a thread

/// Brings BO x BK elements of an operand ("outer" axis o: the rows of A or the columns of B) into shared
/// memory as [k][o], one group of four a thread. KContiguous: neighbours in memory are neighbours in k.
template <int BO, int BK, bool KContiguous>
struct TileLoader {
  static_assert(BO * BK == threads * group);
  static constexpr int pitch = BO + 4;  // keeps float4 reads aligned and spreads the transposing stores

  const float* data;  // at this thread's first o
  std::int64_t stride_o, stride_k;
  int outer_left;  // valid o from this thread's first one on; may be <= 0
  bool vector;     // 16-byte loads are aligned
  int o, k;        // of the group inside the tile

  __device__ TileLoader(const float* matrix, std::int64_t so, std::int64_t sk, int first_outer,
                        int outer_size, bool aligned)
      : stride_o(so), stride_k(sk), vector(aligned) {
    const int t = static_cast<int>(threadIdx.x);
    if constexpr (KContiguous) {
      o = t / (BK / group);
      k = t % (BK / group) * group;
    } else {
      k = t / (BO / group);
      o = t % (BO / group) * group;
    }
    outer_left = outer_size - first_outer - o;
    data = matrix + (first_outer + o) * so;
  }

  /// The group at k0 + k; zeros outside the matrix, which is never read there.
  __device__ float4 fetch(int k0, int k_size) const {
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int first = k0 + k;
    if (outer_left <= 0 || first >= k_size) return v;
    const float* p = data + first * stride_k;
    const int inside = KContiguous ? k_size - first : outer_left;
    if (vector && inside >= group) return *reinterpret_cast<const float4*>(p);
    const std::int64_t step = KContiguous ? stride_k : stride_o;
    v.x = p[0];
    if (inside > 1) v.y = p[step];
    if (inside > 2) v.z = p[2 * step];
    if (inside > 3) v.w = p[3 * step];
    return v;
  }

  __device__ void put(float* tile, const float4& v) const {
    if constexpr (KContiguous) {
      tile[(k + 0) * pitch + o] = v.x;
      tile[(k + 1) * pitch + o] = v.y;
      tile[(k + 2) * pitch + o] = v.z;
      tile[(k + 3) * pitch + o] = v.w;
    } else {
      *reinterpret_cast<float4*>(tile + k * pitch + o) = v;
    }
  }
};

template <int BM, int BN, int BK, int TM, int TN>
__device__ void multiply_add(float (&acc)[TM][TN], const float* a_tile, const float* b_tile, int kk, int ty,
                             int tx) {
  float a[TM], b[TN];
#pragma unroll
  for (int i = 0; i < TM; i += output_group) {
    *reinterpret_cast<float4*>(a + i) =
        *reinterpret_cast<const float4*>(a_tile + kk * (BM + 4) + output_position<TM, BM>(ty, i));
  }
#pragma unroll
  for (int j = 0; j < TN; j += output_group) {
    *reinterpret_cast<float4*>(b + j) =
        *reinterpret_cast<const float4*>(b_tile + kk * (BN + 4) + output_position<TN, BN>(tx, j));
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
  }
}

template <int BM, int BN, int BK, int TM, int TN, bool AKContiguous, bool BKContiguous>
__global__ void __launch_bounds__(threads, 2)
    tiled_f32_kernel(const __grid_constant__ GemmArguments p, int tiles_m, int tiles_n, bool vector_a,
                     bool vector_b) {
  using LoaderA = TileLoader<BM, BK, AKContiguous>;
  using LoaderB = TileLoader<BN, BK, BKContiguous>;
  constexpr int a_size = BK * LoaderA::pitch, b_size = BK * LoaderB::pitch;
  constexpr int stage_pitch = BN + 4;
  static_assert(16 * stage_pitch <= 2 * (a_size + b_size));
  __shared__ alignas(16) float shared[2 * (a_size + b_size)];

  const TileIndex tile = tile_of(blockIdx.x, tiles_m, tiles_n);
  const int row0 = tile.row * BM, col0 = tile.col * BN;
  const int t = static_cast<int>(threadIdx.x), ty = t / 16, tx = t % 16;

  for (int batch = static_cast<int>(blockIdx.z); batch < p.batch; batch += static_cast<int>(gridDim.z)) {
    const LoaderA load_a(static_cast<const float*>(p.a.data) + batch * p.a.batch, p.a.row, p.a.col, row0, p.m,
                         vector_a);
    const LoaderB load_b(static_cast<const float*>(p.b.data) + batch * p.b.batch, p.b.col, p.b.row, col0, p.n,
                         vector_b);
    float acc[TM][TN] = {};
    if (p.k > 0) {
      load_a.put(shared, load_a.fetch(0, p.k));
      load_b.put(shared + a_size, load_b.fetch(0, p.k));
    }
    __syncthreads();
    float* present = shared;
    float* next = shared + a_size + b_size;
    for (int k0 = 0; k0 < p.k; k0 += BK) {
      const bool more = p.k - k0 > BK;
      float4 next_a, next_b;
      if (more) {
        next_a = load_a.fetch(k0 + BK, p.k);
        next_b = load_b.fetch(k0 + BK, p.k);
      }
      if (p.k - k0 >= BK) {
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) multiply_add<BM, BN, BK>(acc, present, present + a_size, kk, ty, tx);
      } else {
#pragma unroll 1
        for (int kk = 0; kk < p.k - k0; ++kk)
          multiply_add<BM, BN, BK>(acc, present, present + a_size, kk, ty, tx);
      }
      if (more) {
        load_a.put(next, next_a);
        load_b.put(next + a_size, next_b);
      }
      __syncthreads();
      float* const used = present;
      present = next;
      next = used;
    }

    // Sixteen rows at a time through shared memory: the epilogue's code then stands here few times, and
    // neighbouring threads write neighbouring columns.
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += output_group) {
        *reinterpret_cast<float4*>(shared + ty * stage_pitch + output_position<TN, BN>(tx, j)) =
            make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
      }
      __syncthreads();
#pragma unroll 1
      for (int e = t; e < 16 * BN; e += threads) {
        const int row = row0 + output_position<TM, BM>(e / BN, i), col = col0 + e % BN;
        if (row < p.m && col < p.n)
          finish(p.epilogue, shared[e / BN * stage_pitch + e % BN], batch, row, col);
      }
      __syncthreads();
    }
  }
}

template <int BM, int BN, int BK, int TM, int TN>
cudaError_t launch(const GemmArguments& p, cudaStream_t stream) {
  const TileGrid grid = tile_grid(p, BM, BN);
  const VectorReads vectors = vector_reads(p, group, sizeof(float));
  start_for(p, [&](auto a_k, auto b_k) {
    tiled_f32_kernel<BM, BN, BK, TM, TN, decltype(a_k)::value, decltype(b_k)::value>
        <<<grid.blocks, threads, 0, stream>>>(p, grid.rows, grid.cols, vectors.a, vectors.b);
  });
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_tiled_f32(const GemmArguments& p, int multiprocessors, cudaStream_t stream) {
  if (large_tiles_pay(p, multiprocessors)) return launch<128, 128, 8, 8, 8>(p, stream);
  return launch<64, 64, 16, 4, 4>(p, stream);
}

}  // namespace parity::cuda
