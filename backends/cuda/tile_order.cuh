#pragma once
// Which output tile a block works on, and which of its elements a thread.

namespace parity::cuda {

struct TileIndex {
  int row, col;
};

/// Walks the tiles in bands of eight tile rows, column by column inside a band, so that blocks that run at
/// the same time share rows of A and columns of B in the L2 cache. Every index below tiles_m * tiles_n is met
/// once.
__host__ __device__ inline TileIndex tile_of(unsigned index, int tiles_m, int tiles_n) {
  constexpr int band_rows = 8;
  const unsigned band_tiles = static_cast<unsigned>(band_rows) * static_cast<unsigned>(tiles_n);
  const int band = static_cast<int>(index / band_tiles);
  const unsigned inside = index % band_tiles;
  const int first = band * band_rows;
  const int rows = tiles_m - first < band_rows ? tiles_m - first : band_rows;
  return {first + static_cast<int>(inside % static_cast<unsigned>(rows)),
          static_cast<int>(inside / static_cast<unsigned>(rows))};
}

/// Neighbouring results of a thread.
inline constexpr int output_group = 4;

/// Where value `i` of the `Count` lies that a thread makes along an axis of `Block`: groups of four, spread
/// over the tile so that a warp reads without bank conflicts.
template <int Count, int Block>
__host__ __device__ inline int output_position(int thread, int i) {
  return i / output_group * (Block / (Count / output_group)) + thread * output_group + i % output_group;
}

}  // namespace parity::cuda
