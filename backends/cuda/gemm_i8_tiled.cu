// tiled_i8_i32: products of 8-bit integers on ordinary arithmetic units. A block of 256 threads makes a BM x
// BN tile of the result, each thread TM x TN of it. Tiles of A and B pass through shared memory as words of
// four neighbours along k, which dp4a multiplies and adds at once; double-buffered, with the next tile
// fetched into registers while the present one is used. Sums wrap, so their order does not matter, and zeros
// behind the end of K change nothing.
#include "backends/cuda/integer_epilogue.cuh"
#include "backends/cuda/tile_launch.hpp"
#include "backends/cuda/tile_order.cuh"

namespace parity::cuda {
namespace {

constexpr int threads = 256;
constexpr int word = 4;           // elements of k in a word
constexpr int BK = 32;            // k of a tile
constexpr int words = BK / word;  // the same in words

/// Brings BO x BK elements of an operand ("outer" axis o: the rows of A or the columns of B) into shared
/// memory as words [k / 4][o]. KContiguous: neighbours in memory are neighbours in k.
template <int BO, bool KContiguous>
struct TileLoader {
  static constexpr int count = BO * words / threads;  // words a thread
  static_assert(count * threads == BO * words);
  static constexpr int pitch = BO + 4;  // keeps int4 reads aligned

  const std::int8_t* data;
  std::int64_t stride_o, stride_k;
  int first_outer, outer_size;
  bool vector;  // words are aligned in memory

  __device__ static void place(int i, int& o, int& w) {
    const int index = static_cast<int>(threadIdx.x) + i * threads;
    o = KContiguous ? index / words : index % BO;
    w = KContiguous ? index % words : index / BO;
  }

  /// Word i of this thread of the tile at k0; zeros outside the matrix, which is never read there.
  __device__ int fetch(int i, int k0, int k_size) const {
    int o, w;
    place(i, o, w);
    const int row = first_outer + o, k = k0 + w * word, inside = k_size - k;
    if (row >= outer_size || inside <= 0) return 0;
    const std::int8_t* p = data + row * stride_o + k * stride_k;
    if (KContiguous && vector && inside >= word) return *reinterpret_cast<const int*>(p);
    std::uint32_t bytes = 0;
#pragma unroll
    for (int j = 0; j < word; ++j) {
      if (j < inside)
        bytes |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(p[j * stride_k])) << (8 * j);
    }
    return static_cast<int>(bytes);
  }

  __device__ static void put(int* tile, int i, int bytes) {
    int o, w;
    place(i, o, w);
    tile[w * pitch + o] = bytes;
  }
};

template <int BM, int BN, int TM, int TN>
__device__ void multiply_add(int (&acc)[TM][TN], const int* a_tile, const int* b_tile, int w, int ty,
                             int tx) {
  int a[TM], b[TN];
#pragma unroll
  for (int i = 0; i < TM; i += output_group) {
    *reinterpret_cast<int4*>(a + i) =
        *reinterpret_cast<const int4*>(a_tile + w * (BM + 4) + output_position<TM, BM>(ty, i));
  }
#pragma unroll
  for (int j = 0; j < TN; j += output_group) {
    *reinterpret_cast<int4*>(b + j) =
        *reinterpret_cast<const int4*>(b_tile + w * (BN + 4) + output_position<TN, BN>(tx, j));
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) acc[i][j] = __dp4a(a[i], b[j], acc[i][j]);
  }
}

template <int BM, int BN, int TM, int TN, bool AKContiguous, bool BKContiguous>
__global__ void __launch_bounds__(threads, 2)
    tiled_i8_kernel(const __grid_constant__ IntegerGemm p, int tiles_m, int tiles_n, bool vector_a,
                    bool vector_b) {
  using LoaderA = TileLoader<BM, AKContiguous>;
  using LoaderB = TileLoader<BN, BKContiguous>;
  constexpr int a_size = words * LoaderA::pitch, b_size = words * LoaderB::pitch;
  constexpr int stage_pitch = BN + 4;
  static_assert(16 * stage_pitch <= 2 * (a_size + b_size));
  __shared__ alignas(16) int shared[2 * (a_size + b_size)];

  const TileIndex tile = tile_of(blockIdx.x, tiles_m, tiles_n);
  const int row0 = tile.row * BM, col0 = tile.col * BN;
  const int t = static_cast<int>(threadIdx.x), ty = t / 16, tx = t % 16;

  for (int batch = static_cast<int>(blockIdx.z); batch < p.batch; batch += static_cast<int>(gridDim.z)) {
    const LoaderA load_a{p.a.data + batch * p.a.batch, p.a.row, p.a.col, row0, p.m, vector_a};
    const LoaderB load_b{p.b.data + batch * p.b.batch, p.b.col, p.b.row, col0, p.n, vector_b};
    int acc[TM][TN] = {};
#pragma unroll
    for (int i = 0; i < LoaderA::count; ++i) LoaderA::put(shared, i, load_a.fetch(i, 0, p.k));
#pragma unroll
    for (int i = 0; i < LoaderB::count; ++i) LoaderB::put(shared + a_size, i, load_b.fetch(i, 0, p.k));
    __syncthreads();
    int* present = shared;
    int* next = shared + a_size + b_size;
    for (int k0 = 0; k0 < p.k; k0 += BK) {
      int next_a[LoaderA::count], next_b[LoaderB::count];
#pragma unroll
      for (int i = 0; i < LoaderA::count; ++i) next_a[i] = load_a.fetch(i, k0 + BK, p.k);
#pragma unroll
      for (int i = 0; i < LoaderB::count; ++i) next_b[i] = load_b.fetch(i, k0 + BK, p.k);
#pragma unroll
      for (int w = 0; w < words; ++w) multiply_add<BM, BN>(acc, present, present + a_size, w, ty, tx);
#pragma unroll
      for (int i = 0; i < LoaderA::count; ++i) LoaderA::put(next, i, next_a[i]);
#pragma unroll
      for (int i = 0; i < LoaderB::count; ++i) LoaderB::put(next + a_size, i, next_b[i]);
      __syncthreads();
      int* const used = present;
      present = next;
      next = used;
    }

    // Sixteen rows at a time through shared memory: the epilogue's code then stands here few times, and
    // neighbouring threads write neighbouring columns.
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += output_group) {
        *reinterpret_cast<int4*>(shared + ty * stage_pitch + output_position<TN, BN>(tx, j)) =
            make_int4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
      }
      __syncthreads();
#pragma unroll 1
      for (int e = t; e < 16 * BN; e += threads) {
        const int row = row0 + output_position<TM, BM>(e / BN, i), col = col0 + e % BN;
        if (row < p.m && col < p.n) finish(p, shared[e / BN * stage_pitch + e % BN], batch, row, col);
      }
      __syncthreads();
    }
  }
}

template <int BM, int BN, int TM, int TN>
cudaError_t launch(const IntegerGemm& p, cudaStream_t stream) {
  const TileGrid grid = tile_grid(p, BM, BN);
  const VectorReads vectors = vector_reads(p, word, sizeof(std::int8_t));
  start_for(p, [&](auto a_k, auto b_k) {
    tiled_i8_kernel<BM, BN, TM, TN, decltype(a_k)::value, decltype(b_k)::value>
        <<<grid.blocks, threads, 0, stream>>>(p, grid.rows, grid.cols, vectors.a, vectors.b);
  });
  return cudaGetLastError();
}

constexpr int epilogue_threads = 256;

__global__ void integer_epilogue_kernel(std::int64_t elements, const __grid_constant__ IntegerGemm p) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * epilogue_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * epilogue_threads + threadIdx.x; i < elements;
       i += step) {
    const std::int64_t row = i / p.n;
    finish(p, 0, static_cast<int>(row / p.m), static_cast<int>(row % p.m), static_cast<int>(i % p.n));
  }
}

}  // namespace

cudaError_t launch_tiled_i8(const IntegerGemm& p, int, cudaStream_t stream) {
  return launch<64, 64, 4, 4>(p, stream);
}

cudaError_t launch_integer_epilogue(const IntegerGemm& p, cudaStream_t stream) {
  const std::int64_t elements = static_cast<std::int64_t>(p.m) * p.n * p.batch;
  if (elements == 0) return cudaSuccess;
  const std::int64_t blocks = (elements + epilogue_threads - 1) / epilogue_threads;
  integer_epilogue_kernel<<<static_cast<unsigned>(blocks < 65536 ? blocks : 65536), epilogue_threads, 0,
                            stream>>>(elements, p);
  return cudaGetLastError();
}

}  // namespace parity::cuda
