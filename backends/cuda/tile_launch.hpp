#pragma once
// Starting the kernels that make a product tile by tile: what their host code shares. A product has m, n,
// batch, and factors a and b with data, row, col and batch (GemmArguments, IntegerGemm).
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace parity::cuda {

/// A block for each tile of a result, in the order of tile_of. Of a long batch the kernel loops over the
/// rest.
struct TileGrid {
  int rows, cols;  ///< in tiles
  dim3 blocks;
};

template <class Product>
TileGrid tile_grid(const Product& p, int tile_m, int tile_n) {
  constexpr int most_entries = 65535;  // of a grid's z
  const int rows = (p.m - 1) / tile_m + 1, cols = (p.n - 1) / tile_n + 1;
  return {rows, cols,
          dim3(static_cast<unsigned>(rows) * static_cast<unsigned>(cols), 1,
               static_cast<unsigned>(p.batch < most_entries ? p.batch : most_entries))};
}

/// Tiles of 128 x 128 read memory half as often as those of 64 x 64; they pay once they give every
/// multiprocessor a block. Both make the same bits.
template <class Product>
bool large_tiles_pay(const Product& p, int multiprocessors) {
  constexpr std::int64_t side = 128;
  return ((p.m - 1) / side + 1) * ((p.n - 1) / side + 1) * p.batch >= multiprocessors;
}

/// Whether neighbours in memory are neighbours along k. Of a factor without neighbours either way, A's are
/// not and B's are: both are then read element by element.
template <class Product>
bool a_k_contiguous(const Product& p) {
  return p.a.col == 1;
}
template <class Product>
bool b_k_contiguous(const Product& p) {
  return p.b.col != 1;
}

/// Whether every group of `group` elements along an axis starts on a multiple of its own bytes.
template <class Matrix>
bool groups_aligned(const Matrix& matrix, std::int64_t stride, std::int64_t other_stride, int group,
                    std::size_t element_bytes) {
  return stride == 1 && other_stride % group == 0 && matrix.batch % group == 0 &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % (static_cast<std::size_t>(group) * element_bytes) ==
             0;
}

/// Of each factor: whether it can be read in groups along its contiguous axis.
struct VectorReads {
  bool a, b;
};
template <class Product>
VectorReads vector_reads(const Product& p, int group, std::size_t element_bytes) {
  const auto aligned = [&](const auto& matrix, std::int64_t along_k, std::int64_t across, bool k_contiguous) {
    return k_contiguous ? groups_aligned(matrix, along_k, across, group, element_bytes)
                        : groups_aligned(matrix, across, along_k, group, element_bytes);
  };
  return {aligned(p.a, p.a.col, p.a.row, a_k_contiguous(p)),
          aligned(p.b, p.b.row, p.b.col, b_k_contiguous(p))};
}

/// Calls start(a_k, b_k): whether neighbours in memory are neighbours along k, of A and of B, as
/// std::bool_constant.
template <class Product, class Start>
void start_for(const Product& p, Start&& start) {
  if (a_k_contiguous(p) && b_k_contiguous(p)) {
    start(std::true_type{}, std::true_type{});
  } else if (a_k_contiguous(p)) {
    start(std::true_type{}, std::false_type{});
  } else if (b_k_contiguous(p)) {
    start(std::false_type{}, std::true_type{});
  } else {
    start(std::false_type{}, std::false_type{});
  }
}

}  // namespace parity::cuda
