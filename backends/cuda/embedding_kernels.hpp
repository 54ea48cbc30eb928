#pragma once
// Embeddings and column reductions: docs/operations.md, "Embedding and reductions". The atomic forms add in
// an order that nobody fixes; fp32 atomicAdd to global memory flushes subnormals (PTX ISA, "atom").
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// An id outside the vocabulary gives NaN: the reference refuses it.
struct Embedding {
  Extent extent;
  std::int64_t vocabulary;
  Input table;
  Indices ids;
  Output y;
};
/// dtable[v]: the rows of dy whose id is v, in row order from +0.
struct EmbeddingBackward {
  Extent extent;  ///< of dtable
  std::int64_t count;
  Indices ids;
  Input dy;
  Output dtable;
};
/// The same with atomicAdd, a thread an element of dy.
struct EmbeddingBackwardAtomic {
  Extent extent;  ///< of dy
  std::int64_t vocabulary;
  Indices ids;
  Input dy;
  Output dtable;
};
/// y[c] = x[0][c] + x[1][c] + ..., from +0.
struct GradientReduction {
  Extent extent;  ///< {1, 1, columns}
  std::int64_t count;
  Input x;
  OutputVector y;
};
/// The same with atomicAdd of partial sums over some rows.
struct GradientReductionAtomic {
  Extent extent;  ///< {1, parts, columns}
  std::int64_t count;
  Input x;
  OutputVector y;
};

cudaError_t launch(const Embedding& p, cudaStream_t stream);
cudaError_t launch(const EmbeddingBackward& p, cudaStream_t stream);
/// Clears dtable first.
cudaError_t launch(const EmbeddingBackwardAtomic& p, cudaStream_t stream);
cudaError_t launch(const GradientReduction& p, cudaStream_t stream);
/// Clears y first.
cudaError_t launch(const GradientReductionAtomic& p, cudaStream_t stream);

}  // namespace parity::cuda
