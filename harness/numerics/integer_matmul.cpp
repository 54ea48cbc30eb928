#include "harness/numerics/integer_matmul.hpp"

#include <algorithm>
#include <vector>

namespace parity {
namespace {

/// A tile of the result that is added up in registers, and how much of the factors stays in the caches:
/// `depth` terms of 4 columns in the first level, of `band` rows in the second.
constexpr std::int64_t tile_rows = 2, tile_cols = 4, depth = 2048, band = 64;

/// Rows of int16, each without gaps and padded with zero rows to a multiple of `multiple`.
std::vector<std::int16_t> packed(const MatrixView<double>& m, std::int64_t multiple) {
  const std::int64_t rows = (m.rows + multiple - 1) / multiple * multiple;
  std::vector<std::int16_t> out(static_cast<std::size_t>(rows * m.cols));
#pragma omp parallel for schedule(static) if (m.rows * m.cols > 32768)
  for (std::int64_t r = 0; r < m.rows; ++r)
    for (std::int64_t k = 0; k < m.cols; ++k)
      out[static_cast<std::size_t>(r * m.cols + k)] = static_cast<std::int16_t>(m(r, k));
  return out;
}

/// sums += products of `count` terms. Unsigned, for a sum that leaves int32 goes on modulo 2^32.
void add_tile(const std::int16_t* a, const std::int16_t* b, std::int64_t leading, std::int64_t count,
              std::uint32_t* sums) {
  std::uint32_t s[tile_rows * tile_cols] = {};
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t r = 0; r < tile_rows; ++r)
      for (std::int64_t c = 0; c < tile_cols; ++c)
        s[r * tile_cols + c] +=
            static_cast<std::uint32_t>(std::int32_t{a[r * leading + k]} * std::int32_t{b[c * leading + k]});
  for (std::int64_t i = 0; i < tile_rows * tile_cols; ++i) sums[i] += s[i];
}

}  // namespace

void integer_matmul(const MatrixView<double>& a, const MatrixView<double>& b, double* c) {
  const std::int64_t rows = a.rows, cols = b.cols, terms = a.cols;
  if (rows == 0 || cols == 0) return;
  const std::vector<std::int16_t> left = packed(a, tile_rows);
  const std::vector<std::int16_t> right =
      packed({b.data, b.cols, b.rows, b.col_stride, b.row_stride}, tile_cols);
  const std::int64_t bands = (rows + band - 1) / band, tiles = (cols + tile_cols - 1) / tile_cols;
  constexpr std::int64_t tile = tile_rows * tile_cols, band_tiles = band / tile_rows;
#pragma omp parallel if (worth_threads(rows, cols, terms))
  {
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(band_tiles * tiles * tile));
#pragma omp for schedule(dynamic)
    for (std::int64_t first = 0; first < bands; ++first) {
      std::ranges::fill(sums, 0U);
      const std::int64_t row = first * band, height = std::min(band, rows - row);
      for (std::int64_t k = 0; k < terms; k += depth)
        for (std::int64_t t = 0; t < tiles; ++t)
          for (std::int64_t r = 0; r < height; r += tile_rows)
            add_tile(left.data() + (row + r) * terms + k, right.data() + t * tile_cols * terms + k, terms,
                     std::min(depth, terms - k), sums.data() + (r / tile_rows * tiles + t) * tile);
      for (std::int64_t r = 0; r < height; ++r)
        for (std::int64_t j = 0; j < cols; ++j) {
          const std::int64_t at = (r / tile_rows * tiles + j / tile_cols) * tile + r % tile_rows * tile_cols;
          c[(row + r) * cols + j] =
              static_cast<std::int32_t>(sums[static_cast<std::size_t>(at + j % tile_cols)]);
        }
    }
  }
}

}  // namespace parity
