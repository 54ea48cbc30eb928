#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/numerics/matrix_product.hpp"

namespace parity {

/// A matrix copied into panels of `Width` rows, each stored k by k: the inner loops of the emulated
/// arithmetic read it forwards. Rows beyond the matrix are zero.
template <class T, int Width>
struct PackedPanels {
  std::int64_t rows = 0, depth = 0;
  std::vector<T> data;

  std::int64_t panels() const { return (rows + Width - 1) / Width; }
  const T* panel(std::int64_t index) const { return data.data() + index * depth * Width; }
  T* panel(std::int64_t index) { return data.data() + index * depth * Width; }
};

/// Packs m (rows x K). Position p of the panels holds column permutation[p] (an empty permutation: p), each
/// element passed through `convert`.
template <class T, int Width, class Convert>
PackedPanels<T, Width> pack_rows(const MatrixView<double>& m, const std::vector<std::int64_t>& permutation,
                                 const Convert& convert) {
  PackedPanels<T, Width> packed{m.rows, m.cols, {}};
  packed.data.resize(static_cast<std::size_t>(packed.panels() * Width * m.cols));
  const std::int64_t panels = packed.panels();
#pragma omp parallel for schedule(static) if (m.rows * m.cols > 32768)
  for (std::int64_t p = 0; p < panels; ++p) {
    T* out = packed.panel(p);
    const std::int64_t width = std::min<std::int64_t>(Width, m.rows - p * Width);
    for (std::int64_t at = 0; at < m.cols; ++at) {
      const std::int64_t k = permutation.empty() ? at : permutation[static_cast<std::size_t>(at)];
      for (std::int64_t r = 0; r < width; ++r) out[at * Width + r] = convert(m(p * Width + r, k));
    }
  }
  return packed;
}

template <class T>
MatrixView<T> transposed(const MatrixView<T>& m) {
  return {m.data, m.cols, m.rows, m.col_stride, m.row_stride};
}

}  // namespace parity
