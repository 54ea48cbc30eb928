#include "harness/numerics/freivalds_modular.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "harness/numerics/matrix_product.hpp"
#include "harness/tensor/random.hpp"

namespace parity {
namespace {

constexpr std::int64_t vectors = modular_vectors;
constexpr std::int64_t panel = 64, chunk = 256;

using Words = std::vector<std::uint32_t>;  ///< [rows][vectors]

/// x: one row of words for each of `n` columns.
Words random_words(std::int64_t n, std::uint64_t seed) {
  constexpr std::uint64_t purpose = 0x6d6f6475;  // "modu": a counter of its own
  Words x(static_cast<std::size_t>(n * vectors));
  for (std::int64_t j = 0; j < n; ++j) {
    std::uint32_t* row = x.data() + j * vectors;
    for (std::int64_t v = 0; v < vectors; v += 4) {
      const PhiloxBlock block =
          philox(seed, static_cast<std::uint64_t>(j), purpose << 32 | static_cast<std::uint64_t>(v));
      std::copy_n(block.word, 4, row + v);
    }
    row[0] = (row[0] & 1U) != 0 ? 1U : ~0U;
  }
  return x;
}

std::uint32_t word_of(double integer) {
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(integer));
}

/// matrix * x modulo 2^32.
Words times(const StoredMatrix& matrix, const Words& x) {
  Words out(static_cast<std::size_t>(matrix.rows * vectors));
  const std::int64_t panels = (matrix.rows + panel - 1) / panel;
#pragma omp parallel if (worth_threads(matrix.rows, matrix.cols, vectors))
  {
    std::vector<double> tile(static_cast<std::size_t>(panel * chunk));
#pragma omp for schedule(dynamic)
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t first = p * panel, rows = std::min(panel, matrix.rows - first);
      for (std::int64_t col = 0; col < matrix.cols; col += chunk) {
        const std::int64_t count = std::min(chunk, matrix.cols - col);
        read_tile(matrix, first, col, rows, count, tile.data(), chunk);
        for (std::int64_t r = 0; r < rows; ++r) {
          std::array<std::uint32_t, static_cast<std::size_t>(vectors)> sums{};
          for (std::int64_t j = 0; j < count; ++j) {
            const std::uint32_t element = word_of(tile[static_cast<std::size_t>(r * chunk + j)]);
            const std::uint32_t* row = x.data() + (col + j) * vectors;
            for (std::size_t v = 0; v < sums.size(); ++v) sums[v] += element * row[v];
          }
          std::uint32_t* to = out.data() + (first + r) * vectors;
          for (std::size_t v = 0; v < sums.size(); ++v) to[v] += sums[v];
        }
      }
    }
  }
  return out;
}

}  // namespace

FreivaldsReport freivalds_modular(const ProductForm& form, const StoredMatrix& result, std::uint64_t seed) {
  FreivaldsReport report;
  report.integers = report.modular = true;
  report.vectors = modular_vectors;
  report.rows = result.rows, report.cols = result.cols;
  report.segments = 1;
  report.certain_error = report.typical_certain_error = 1;
  const Words x = random_words(result.cols, seed);
  const Words want = times(form.left, times(form.right, x));
  const Words got = times(result, x);
  const bool adds = form.addend && form.beta != 0;
  const Words addend = adds ? times(*form.addend, x) : Words{};
  const std::uint32_t alpha = word_of(form.alpha), beta = word_of(form.beta);
  for (std::int64_t row = 0; row < result.rows; ++row) {
    std::uint32_t residual = 0;
    for (auto i = static_cast<std::size_t>(row * vectors); i < static_cast<std::size_t>((row + 1) * vectors);
         ++i) {
      // The signs come first: of one wrong element they give the error itself.
      if (residual == 0) residual = got[i] - alpha * want[i] - (adds ? beta * addend[i] : 0U);
    }
    if (residual == 0) continue;
    ++report.flagged_rows;
    if (report.findings.size() < freivalds_findings)
      report.findings.push_back(
          {row, 0, result.cols - 1, static_cast<double>(static_cast<std::int32_t>(residual)), 0, true});
  }
  return report;
}

bool modular_check_sees(std::span<const double> changes, std::uint64_t seed) {
  const Words x = random_words(static_cast<std::int64_t>(changes.size()), seed);
  for (std::size_t v = 0; v < static_cast<std::size_t>(vectors); ++v) {
    std::uint32_t sum = 0;
    for (std::size_t j = 0; j < changes.size(); ++j)
      sum += word_of(changes[j]) * x[j * static_cast<std::size_t>(vectors) + v];
    if (sum != 0) return true;
  }
  return false;
}

}  // namespace parity
