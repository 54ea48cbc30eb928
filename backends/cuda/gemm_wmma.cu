// wmma_f16_f32, wmma_bf16_f32 and wmma_f16_f16: tensor cores through nvcuda::wmma, 16x16x16. Tiles of A and B
// are staged in shared memory in whichever orientation they have in device memory (the fragment's layout does
// the transposition), zero-filled outside the matrix, so that any size, leading dimension and transposition
// works. The accumulators go to scratch of their own format in shared memory and through the FP32 epilogue;
// conversion comes last.
#include <mma.h>

#include <type_traits>

#include "backends/cuda/epilogue.cuh"
#include "backends/cuda/tile_launch.hpp"
#include "backends/cuda/tile_order.cuh"
#include "backends/cuda/wmma_layout.cuh"

namespace parity::cuda {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int side = 16;  // of a fragment, in m, n and k
constexpr int group = 8;  // 16-bit elements fetched at once
constexpr int BK = 32;    // k of a staged tile: two fragments
constexpr int groups_a_thread = 2;

/// Brings BO x BK 16-bit elements of an operand ("outer" axis o: the rows of A or the columns of B) into
/// shared memory: [o][k] when neighbours in memory are neighbours in k, [k][o] otherwise.
template <int BO, int Threads, bool KContiguous>
struct TileLoader {
  static_assert(BO * BK == Threads * group * groups_a_thread);
  static constexpr int pitch = (KContiguous ? BK : BO) + 8;  // 16-byte rows that do not share banks
  static constexpr int size = (KContiguous ? BO : BK) * pitch;

  const std::uint16_t* data;
  std::int64_t stride_o, stride_k;
  int first_outer, outer_size;
  bool vector;

  /// Position of group g of this thread inside the tile.
  __device__ static void place(int g, int& o, int& k) {
    const int index = static_cast<int>(threadIdx.x) + g * Threads;
    if constexpr (KContiguous) {
      o = index / (BK / group);
      k = index % (BK / group) * group;
    } else {
      k = index / (BO / group);
      o = index % (BO / group) * group;
    }
  }

  __device__ uint4 fetch(int g, int k0, int k_size) const {
    int o, k;
    place(g, o, k);
    o += first_outer;
    k += k0;
    if (o >= outer_size || k >= k_size) return make_uint4(0, 0, 0, 0);
    const std::uint16_t* p = data + o * stride_o + k * stride_k;
    const int inside = KContiguous ? k_size - k : outer_size - o;
    if (vector && inside >= group) return *reinterpret_cast<const uint4*>(p);
    const std::int64_t step = KContiguous ? stride_k : stride_o;
    std::uint32_t word[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < group; ++i) {
      if (i < inside) word[i / 2] |= static_cast<std::uint32_t>(p[i * step]) << (16 * (i % 2));
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
  }

  __device__ static void put(std::uint16_t* tile, int g, const uint4& v) {
    int o, k;
    place(g, o, k);
    *reinterpret_cast<uint4*>(tile + (KContiguous ? o * pitch + k : k * pitch + o)) = v;
  }

  /// Where the 16 x 16 fragment at (o, k) starts.
  __device__ static int fragment(int o, int k) {
    return KContiguous ? o * pitch + k : k * pitch + o;
  }
};

/// Whether the architecture being compiled for has the instructions: bf16 came with 8.0. supports() refuses
/// the path on older devices, so the kernel that is left there is never launched.
template <class T>
__host__ __device__ constexpr bool has_instructions() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return std::is_same_v<T, __half>;
#else
  return true;
#endif
}

__device__ inline float widened(float x) {
  return x;
}
__device__ inline float widened(__half x) {
  return __half2float(x);
}

/// A block of WM x WN warps makes a BM x BN tile; each warp FM x FN fragments of it. Sum: the accumulator.
template <class T, class Sum, int WM, int WN, int FM, int FN, bool AKContiguous, bool BKContiguous>
__device__ __forceinline__ void multiply(const GemmArguments& p, int tiles_m, int tiles_n, bool vector_a,
                                         bool vector_b) {
  constexpr int threads = WM * WN * 32, BM = WM * FM * side, BN = WN * FN * side;
  using LoaderA = TileLoader<BM, threads, AKContiguous>;
  using LoaderB = TileLoader<BN, threads, BKContiguous>;
  constexpr int stage = LoaderA::size + LoaderB::size;  // 16-bit elements of one buffer
  constexpr int scratch_pitch = FN * side + 16 / static_cast<int>(sizeof(Sum));  // rows on 16 bytes
  constexpr int scratch_bytes = WM * WN * side * scratch_pitch * static_cast<int>(sizeof(Sum));
  constexpr int shared_bytes = 2 * stage * 2 > scratch_bytes ? 2 * stage * 2 : scratch_bytes;
  static_assert(LoaderA::size % 16 == 0 && stage % 16 == 0, "fragments start on 32 bytes");
  static_assert(shared_bytes <= 48 * 1024);
  __shared__ alignas(128) unsigned char shared[shared_bytes];
  std::uint16_t* const tiles = reinterpret_cast<std::uint16_t*>(shared);

  const TileIndex tile = tile_of(blockIdx.x, tiles_m, tiles_n);
  const int row0 = tile.row * BM, col0 = tile.col * BN;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = warp / WN * FM * side, warp_col = warp % WN * FN * side;
  Sum* const scratch = reinterpret_cast<Sum*>(shared) + warp * side * scratch_pitch;

  for (int batch = static_cast<int>(blockIdx.z); batch < p.batch; batch += static_cast<int>(gridDim.z)) {
    const LoaderA load_a{static_cast<const std::uint16_t*>(p.a.data) + batch * p.a.batch,
                         p.a.row,
                         p.a.col,
                         row0,
                         p.m,
                         vector_a};
    const LoaderB load_b{static_cast<const std::uint16_t*>(p.b.data) + batch * p.b.batch,
                         p.b.col,
                         p.b.row,
                         col0,
                         p.n,
                         vector_b};
    wmma::fragment<wmma::accumulator, side, side, side, Sum> acc[FM][FN];
#pragma unroll
    for (int i = 0; i < FM; ++i) {
#pragma unroll
      for (int j = 0; j < FN; ++j) wmma::fill_fragment(acc[i][j], Sum(0.0f));
    }
    if (p.k > 0) {
#pragma unroll
      for (int g = 0; g < groups_a_thread; ++g) {
        LoaderA::put(tiles, g, load_a.fetch(g, 0, p.k));
        LoaderB::put(tiles + LoaderA::size, g, load_b.fetch(g, 0, p.k));
      }
    }
    __syncthreads();
    std::uint16_t* present = tiles;
    std::uint16_t* next = tiles + stage;
    for (int k0 = 0; k0 < p.k; k0 += BK) {
      const bool more = p.k - k0 > BK;
      uint4 next_a[groups_a_thread], next_b[groups_a_thread];
      if (more) {
#pragma unroll
        for (int g = 0; g < groups_a_thread; ++g) {
          next_a[g] = load_a.fetch(g, k0 + BK, p.k);
          next_b[g] = load_b.fetch(g, k0 + BK, p.k);
        }
      }
#pragma unroll
      for (int kk = 0; kk < BK; kk += side) {
        wmma::fragment<wmma::matrix_a, side, side, side, T, typename LayoutOf<AKContiguous>::type> a[FM];
        wmma::fragment<wmma::matrix_b, side, side, side, T, typename LayoutOf<!BKContiguous>::type> b[FN];
#pragma unroll
        for (int i = 0; i < FM; ++i) {
          const std::uint16_t* from = present + LoaderA::fragment(warp_row + i * side, kk);
          wmma::load_matrix_sync(a[i], reinterpret_cast<const T*>(from), LoaderA::pitch);
        }
#pragma unroll
        for (int j = 0; j < FN; ++j) {
          const std::uint16_t* from = present + LoaderA::size + LoaderB::fragment(warp_col + j * side, kk);
          wmma::load_matrix_sync(b[j], reinterpret_cast<const T*>(from), LoaderB::pitch);
        }
#pragma unroll
        for (int i = 0; i < FM; ++i) {
#pragma unroll
          for (int j = 0; j < FN; ++j) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
        }
      }
      if (more) {
#pragma unroll
        for (int g = 0; g < groups_a_thread; ++g) {
          LoaderA::put(next, g, next_a[g]);
          LoaderB::put(next + LoaderA::size, g, next_b[g]);
        }
      }
      __syncthreads();
      std::uint16_t* const used = present;
      present = next;
      next = used;
    }

    // The tiles are no longer needed: their memory becomes each warp's own scratch.
#pragma unroll
    for (int i = 0; i < FM; ++i) {
#pragma unroll
      for (int j = 0; j < FN; ++j) {
        wmma::store_matrix_sync(scratch + j * side, acc[i][j], scratch_pitch, wmma::mem_row_major);
      }
      __syncwarp();
#pragma unroll 1
      for (int e = lane; e < side * FN * side; e += 32) {
        const int r = e / (FN * side), c = e % (FN * side);
        const int row = row0 + warp_row + i * side + r, col = col0 + warp_col + c;
        if (row < p.m && col < p.n)
          finish(p.epilogue, widened(scratch[r * scratch_pitch + c]), batch, row, col);
      }
      __syncwarp();
    }
    __syncthreads();  // before the next batch entry's tiles overwrite another warp's scratch
  }
}

template <class T, class Sum, int WM, int WN, int FM, int FN, bool AKContiguous, bool BKContiguous>
__global__ void __launch_bounds__(WM* WN * 32, 512 / (WM * WN * 32))
    wmma_kernel(const __grid_constant__ GemmArguments p, int tiles_m, int tiles_n, bool vector_a,
                bool vector_b) {
  if constexpr (has_instructions<T>()) {
    multiply<T, Sum, WM, WN, FM, FN, AKContiguous, BKContiguous>(p, tiles_m, tiles_n, vector_a, vector_b);
  } else {
    __trap();
  }
}

template <class T, class Sum, int WM, int WN, int FM, int FN>
cudaError_t launch(const GemmArguments& p, cudaStream_t stream) {
  constexpr int BM = WM * FM * side, BN = WN * FN * side, threads = WM * WN * 32;
  const TileGrid grid = tile_grid(p, BM, BN);
  const VectorReads vectors = vector_reads(p, group, sizeof(T));
  start_for(p, [&](auto a_k, auto b_k) {
    wmma_kernel<T, Sum, WM, WN, FM, FN, decltype(a_k)::value, decltype(b_k)::value>
        <<<grid.blocks, threads, 0, stream>>>(p, grid.rows, grid.cols, vectors.a, vectors.b);
  });
  return cudaGetLastError();
}

template <class T, class Sum>
cudaError_t launch_for(const GemmArguments& p, int multiprocessors, cudaStream_t stream) {
  if (large_tiles_pay(p, multiprocessors))
    return launch<T, Sum, 4, 2, 2, 4>(p, stream);  // 128 x 128, 8 warps
  return launch<T, Sum, 2, 2, 2, 2>(p, stream);    // 64 x 64, 4 warps
}

}  // namespace

cudaError_t launch_wmma(const GemmArguments& p, int multiprocessors, cudaStream_t stream) {
  if (p.a.element != p.b.element) return cudaErrorInvalidValue;
  switch (p.a.element) {
    case Element::f16:
      return launch_for<__half, float>(p, multiprocessors, stream);
    case Element::bf16:
      return launch_for<__nv_bfloat16, float>(p, multiprocessors, stream);
    case Element::f32:
      break;
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_wmma_f16(const GemmArguments& p, int multiprocessors, cudaStream_t stream) {
  if (p.a.element != Element::f16 || p.b.element != Element::f16) return cudaErrorInvalidValue;
  return launch_for<__half, __half>(p, multiprocessors, stream);
}

}  // namespace parity::cuda
