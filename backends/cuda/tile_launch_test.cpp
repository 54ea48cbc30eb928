// On the host alone: which tiles, which threads' elements and which kernel a product of a size and layout
// gets.
#include "backends/cuda/tile_launch.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "backends/cuda/integer_gemm.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/tile_order.cuh"

namespace parity::cuda {
namespace {

/// A product whose rows lie without gaps; transposed factors have their columns so.
GemmArguments product(int m, int n, int k, int batch, bool trans_a = false, bool trans_b = false) {
  GemmArguments p;
  p.m = m, p.n = n, p.k = k, p.batch = batch;
  p.a.row = trans_a ? 1 : k, p.a.col = trans_a ? m : 1;
  p.b.row = trans_b ? 1 : n, p.b.col = trans_b ? k : 1;
  p.a.batch = std::int64_t{m} * k, p.b.batch = std::int64_t{k} * n;
  return p;
}

TEST(TileOrder, MeetsEveryTileOnce) {
  for (const int tiles_m : {1, 7, 8, 9, 17})
    for (const int tiles_n : {1, 3, 16}) {
      std::set<std::pair<int, int>> met;
      for (unsigned i = 0; i < static_cast<unsigned>(tiles_m * tiles_n); ++i) {
        const TileIndex tile = tile_of(i, tiles_m, tiles_n);
        EXPECT_TRUE(tile.row >= 0 && tile.row < tiles_m && tile.col >= 0 && tile.col < tiles_n);
        met.insert({tile.row, tile.col});
      }
      EXPECT_EQ(met.size(), static_cast<std::size_t>(tiles_m * tiles_n));
    }
}

template <int Count, int Block>
void expect_every_position_once() {
  std::set<int> met;
  for (int thread = 0; thread < Block / Count; ++thread)
    for (int i = 0; i < Count; ++i) {
      const int at = output_position<Count, Block>(thread, i);
      EXPECT_TRUE(at >= 0 && at < Block) << at;
      EXPECT_TRUE(met.insert(at).second) << at;
      // Four neighbours are read and written at once.
      EXPECT_EQ(at % output_group, i % output_group);
    }
  EXPECT_EQ(met.size(), static_cast<std::size_t>(Block));
}

TEST(TileOrder, ThreadsShareATileOut) {
  expect_every_position_once<4, 64>();
  expect_every_position_once<8, 128>();
}

TEST(TileLaunch, GridCoversTheResultAndNoMore) {
  const auto grid = [](int m, int n, int batch) { return tile_grid(product(m, n, 1, batch), 128, 64); };
  EXPECT_EQ(grid(1, 1, 1).blocks.x, 1u);
  EXPECT_EQ(grid(128, 64, 1).blocks.x, 1u);
  EXPECT_EQ(grid(129, 64, 1).rows, 2);
  EXPECT_EQ(grid(128, 65, 1).cols, 2);
  EXPECT_EQ(grid(257, 129, 3).blocks.x, 9u);
  EXPECT_EQ(grid(257, 129, 3).blocks.y, 1u);
  EXPECT_EQ(grid(257, 129, 3).blocks.z, 3u);
  // What a device takes; the kernel goes on from there.
  EXPECT_EQ(grid(1, 1, 65535).blocks.z, 65535u);
  EXPECT_EQ(grid(1, 1, 65536).blocks.z, 65535u);
  // Beyond 2^31 blocks as a signed number.
  EXPECT_EQ(grid(128 * 65536, 64 * 40000, 1).blocks.x, 65536u * 40000u);
}

TEST(TileLaunch, LargeTilesNeedABlockForEveryMultiprocessor) {
  EXPECT_FALSE(large_tiles_pay(product(128 * 11, 128 * 11, 1, 1), 122));
  EXPECT_TRUE(large_tiles_pay(product(128 * 11, 128 * 11, 1, 1), 121));
  EXPECT_TRUE(large_tiles_pay(product(128 * 10 + 1, 128 * 10 + 1, 1, 1), 121));
  EXPECT_TRUE(large_tiles_pay(product(1, 1, 1, 121), 121));
  EXPECT_FALSE(large_tiles_pay(product(1, 1, 1, 120), 121));
  // More tiles than an int counts.
  EXPECT_TRUE(large_tiles_pay(product(2147483647, 2147483647, 1, 1), 132));
}

template <class Product>
std::pair<bool, bool> started(const Product& p) {
  int starts = 0;
  std::pair<bool, bool> along_k;
  start_for(p, [&](auto a_k, auto b_k) { ++starts, along_k = {a_k.value, b_k.value}; });
  EXPECT_EQ(starts, 1);
  return along_k;
}

TEST(TileLaunch, EveryTranspositionHasItsKernel) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      EXPECT_EQ(started(product(5, 6, 7, 1, ta, tb)), std::pair(!ta, tb)) << ta << tb;
  // Neighbours in memory are neighbours along neither axis.
  IntegerGemm gaps;
  gaps.m = gaps.n = gaps.k = gaps.batch = 1;
  gaps.a.row = gaps.b.row = 3;
  gaps.a.col = gaps.b.col = 2;
  EXPECT_EQ(started(gaps), std::pair(false, true));
  EXPECT_FALSE(vector_reads(gaps, 4, 1).a);
  EXPECT_FALSE(vector_reads(gaps, 4, 1).b);
}

TEST(TileLaunch, VectorReadsAreAligned) {
  alignas(16) static const float memory[8] = {};
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const auto reads = [&](auto change) {
        GemmArguments p = product(8, 16, 4, 2, ta, tb);
        p.a.data = p.b.data = memory;
        change(p);
        const VectorReads vectors = vector_reads(p, 4, sizeof(float));
        return std::pair(vectors.a, vectors.b);
      };
      EXPECT_EQ(reads([](GemmArguments&) {}), std::pair(true, true));
      EXPECT_EQ(reads([](GemmArguments& p) { p.a.data = memory + 4; }), std::pair(true, true));
      EXPECT_EQ(reads([](GemmArguments& p) { p.a.data = memory + 1; }), std::pair(false, true));
      EXPECT_EQ(reads([](GemmArguments& p) { p.b.data = memory + 2; }), std::pair(true, false));
      EXPECT_EQ(reads([](GemmArguments& p) { p.a.batch += 2; }), std::pair(false, true));
      EXPECT_EQ(reads([](GemmArguments& p) { p.b.batch += 2; }), std::pair(true, false));
      // A pad that is no whole group.
      EXPECT_EQ(reads([&](GemmArguments& p) { (ta ? p.a.col : p.a.row) += 1; }), std::pair(false, true));
      EXPECT_EQ(reads([&](GemmArguments& p) { (tb ? p.b.col : p.b.row) += 3; }), std::pair(true, false));
      EXPECT_EQ(reads([&](GemmArguments& p) { (ta ? p.a.col : p.a.row) += 4; }), std::pair(true, true));
    }
}

}  // namespace
}  // namespace parity::cuda
