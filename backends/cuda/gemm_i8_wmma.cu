// wmma_i8_i32: tensor cores through nvcuda::wmma over signed 8-bit integers, 16x16x16. Tiles of A and B are
// staged in shared memory as the 16 x 16 blocks that the fragments are, each without gaps, in whichever
// orientation they have in device memory (the fragment's layout does the transposition); zero-filled outside
// the matrix, so that any size, leading dimension and transposition works. The 32-bit accumulators, which
// wrap, go to scratch in shared memory and through the epilogue.
#include <mma.h>

#include "backends/cuda/integer_epilogue.cuh"
#include "backends/cuda/tile_launch.hpp"
#include "backends/cuda/tile_order.cuh"
#include "backends/cuda/wmma_layout.cuh"

namespace parity::cuda {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int side = 16;            // of a fragment, in m, n and k; and the elements fetched at once
constexpr int BK = 64;              // k of a staged tile
constexpr int steps = BK / side;    // the same in fragments
constexpr int block = side * side;  // bytes of a fragment's block: it starts on 256 bytes
constexpr int groups_a_thread = 2;

/// Brings BO x BK elements of an operand ("outer" axis o: the rows of A or the columns of B) into shared
/// memory, block (o / 16, k / 16) by block: [o][k] when neighbours in memory are neighbours in k, [k][o]
/// otherwise.
template <int BO, int Threads, bool KContiguous>
struct TileLoader {
  static_assert(BO * BK == Threads * side * groups_a_thread);
  static constexpr int size = BO * BK;

  const std::int8_t* data;
  std::int64_t stride_o, stride_k;
  int first_outer, outer_size;
  bool vector;

  /// Position of group g of this thread inside the tile: 16 neighbours along the fast axis.
  __device__ static void place(int g, int& o, int& k) {
    const int index = static_cast<int>(threadIdx.x) + g * Threads;
    if constexpr (KContiguous) {
      o = index / steps;
      k = index % steps * side;
    } else {
      k = index / (BO / side);
      o = index % (BO / side) * side;
    }
  }

  __device__ uint4 fetch(int g, int k0, int k_size) const {
    int o, k;
    place(g, o, k);
    o += first_outer;
    k += k0;
    if (o >= outer_size || k >= k_size) return make_uint4(0, 0, 0, 0);
    const std::int8_t* p = data + o * stride_o + k * stride_k;
    const int inside = KContiguous ? k_size - k : outer_size - o;
    if (vector && inside >= side) return *reinterpret_cast<const uint4*>(p);
    const std::int64_t step = KContiguous ? stride_k : stride_o;
    uint4 v = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (int first = 0; first < side; first += 4) {
      std::uint32_t bytes = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (first + i < inside)
          bytes |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(p[(first + i) * step])) << (8 * i);
      }
      v = make_uint4(v.y, v.z, v.w, bytes);
    }
    return v;
  }

  __device__ static void put(std::int8_t* tile, int g, const uint4& v) {
    int o, k;
    place(g, o, k);
    *reinterpret_cast<uint4*>(tile + fragment(o, k) + (KContiguous ? o : k) % side * side) = v;
  }

  /// Where the block of (o, k) starts.
  __device__ static int fragment(int o, int k) {
    return (o / side * steps + k / side) * block;
  }
};

/// A block of WM x WN warps makes a BM x BN tile; each warp FM x FN fragments of it.
template <int WM, int WN, int FM, int FN, bool AKContiguous, bool BKContiguous>
__global__ void __launch_bounds__(WM* WN * 32, 512 / (WM * WN * 32))
    wmma_i8_kernel(const __grid_constant__ IntegerGemm p, int tiles_m, int tiles_n, bool vector_a,
                   bool vector_b) {
  constexpr int threads = WM * WN * 32, BM = WM * FM * side, BN = WN * FN * side;
  using LoaderA = TileLoader<BM, threads, AKContiguous>;
  using LoaderB = TileLoader<BN, threads, BKContiguous>;
  constexpr int stage = LoaderA::size + LoaderB::size;  // bytes of one buffer
  constexpr int scratch_pitch = FN * side + 4;          // rows on 16 bytes
  constexpr int scratch_bytes = WM * WN * side * scratch_pitch * static_cast<int>(sizeof(int));
  constexpr int shared_bytes = 2 * stage > scratch_bytes ? 2 * stage : scratch_bytes;
  static_assert(shared_bytes <= 48 * 1024);
  __shared__ alignas(256) unsigned char shared[shared_bytes];
  std::int8_t* const tiles = reinterpret_cast<std::int8_t*>(shared);

  const TileIndex tile = tile_of(blockIdx.x, tiles_m, tiles_n);
  const int row0 = tile.row * BM, col0 = tile.col * BN;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = warp / WN * FM * side, warp_col = warp % WN * FN * side;
  int* const scratch = reinterpret_cast<int*>(shared) + warp * side * scratch_pitch;

  for (int batch = static_cast<int>(blockIdx.z); batch < p.batch; batch += static_cast<int>(gridDim.z)) {
    const LoaderA load_a{p.a.data + batch * p.a.batch, p.a.row, p.a.col, row0, p.m, vector_a};
    const LoaderB load_b{p.b.data + batch * p.b.batch, p.b.col, p.b.row, col0, p.n, vector_b};
    wmma::fragment<wmma::accumulator, side, side, side, int> acc[FM][FN];
#pragma unroll
    for (int i = 0; i < FM; ++i) {
#pragma unroll
      for (int j = 0; j < FN; ++j) wmma::fill_fragment(acc[i][j], 0);
    }
#pragma unroll
    for (int g = 0; g < groups_a_thread; ++g) {
      LoaderA::put(tiles, g, load_a.fetch(g, 0, p.k));
      LoaderB::put(tiles + LoaderA::size, g, load_b.fetch(g, 0, p.k));
    }
    __syncthreads();
    std::int8_t* present = tiles;
    std::int8_t* next = tiles + stage;
    for (int k0 = 0; k0 < p.k; k0 += BK) {
      uint4 next_a[groups_a_thread], next_b[groups_a_thread];
#pragma unroll
      for (int g = 0; g < groups_a_thread; ++g) {
        next_a[g] = load_a.fetch(g, k0 + BK, p.k);
        next_b[g] = load_b.fetch(g, k0 + BK, p.k);
      }
#pragma unroll
      for (int kk = 0; kk < BK; kk += side) {
        using ALayout = typename LayoutOf<AKContiguous>::type;
        using BLayout = typename LayoutOf<!BKContiguous>::type;
        wmma::fragment<wmma::matrix_a, side, side, side, signed char, ALayout> a[FM];
        wmma::fragment<wmma::matrix_b, side, side, side, signed char, BLayout> b[FN];
#pragma unroll
        for (int i = 0; i < FM; ++i) {
          const int from = LoaderA::fragment(warp_row + i * side, kk);
          wmma::load_matrix_sync(a[i], present + from, side);
        }
#pragma unroll
        for (int j = 0; j < FN; ++j) {
          const int from = LoaderA::size + LoaderB::fragment(warp_col + j * side, kk);
          wmma::load_matrix_sync(b[j], present + from, side);
        }
#pragma unroll
        for (int i = 0; i < FM; ++i) {
#pragma unroll
          for (int j = 0; j < FN; ++j) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
        }
      }
#pragma unroll
      for (int g = 0; g < groups_a_thread; ++g) {
        LoaderA::put(next, g, next_a[g]);
        LoaderB::put(next + LoaderA::size, g, next_b[g]);
      }
      __syncthreads();
      std::int8_t* const used = present;
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
        if (row < p.m && col < p.n) finish(p, scratch[r * scratch_pitch + c], batch, row, col);
      }
      __syncwarp();
    }
    __syncthreads();  // before the next batch entry's tiles overwrite another warp's scratch
  }
}

template <int WM, int WN, int FM, int FN>
cudaError_t launch(const IntegerGemm& p, cudaStream_t stream) {
  constexpr int BM = WM * FM * side, BN = WN * FN * side, threads = WM * WN * 32;
  const TileGrid grid = tile_grid(p, BM, BN);
  const VectorReads vectors = vector_reads(p, side, sizeof(std::int8_t));
  start_for(p, [&](auto a_k, auto b_k) {
    wmma_i8_kernel<WM, WN, FM, FN, decltype(a_k)::value, decltype(b_k)::value>
        <<<grid.blocks, threads, 0, stream>>>(p, grid.rows, grid.cols, vectors.a, vectors.b);
  });
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_wmma_i8(const IntegerGemm& p, int multiprocessors, cudaStream_t stream) {
  if (large_tiles_pay(p, multiprocessors)) return launch<4, 2, 2, 4>(p, stream);  // 128 x 128, 8 warps
  return launch<2, 2, 2, 2>(p, stream);                                           // 64 x 64, 4 warps
}

}  // namespace parity::cuda
