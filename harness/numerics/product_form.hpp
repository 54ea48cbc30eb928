#pragma once
#include <optional>

#include "harness/numerics/stored_matrix.hpp"

namespace parity {

/// D = alpha left right + beta addend; left is m x k, right k x n, the addend (if any) m x n.
struct ProductForm {
  StoredMatrix left, right;
  double alpha = 1, beta = 0;
  std::optional<StoredMatrix> addend;

  /// D^T = alpha right^T left^T + beta addend^T: what is said of rows then holds for columns.
  ProductForm transposed() const {
    ProductForm turned{right.transposed(), left.transposed(), alpha, beta, std::nullopt};
    if (addend) turned.addend = addend->transposed();
    return turned;
  }
};

}  // namespace parity
