#pragma once
// RMS normalisation and exclusive self-attention: ops that reduce over a row or a group of its columns.
// docs/operations.md, "Normalisation and rotation" and "Attention".
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// Every row has `groups` groups of `size` columns, each normalised on its own.
struct RmsNorm {
  std::int64_t count, groups, size;  ///< count: rows
  Input x;
  InputVector weight;  ///< data == nullptr: none
  Output y, r;         ///< r: [count, groups]
  float eps;
  __host__ __device__ std::int64_t rows() const { return count * groups; }
};
struct RmsNormBackward {
  std::int64_t count, groups, size;
  Input x;
  InputVector weight;
  Input r, dy;
  Output dx;
  __host__ __device__ std::int64_t rows() const { return count * groups; }
};
/// dw[c] = chain over the rows of fma(dy, x R, s).
struct RmsNormWeightGradient {
  Extent extent;  ///< one thread a column: {1, 1, columns}
  std::int64_t count;
  Input x;
  InputVector r;
  Input dy;
  OutputVector dw;
};

/// o = y - (y . v^) v^, v^ = v / |v|, per row and head; `group` heads share a kv head.
struct Xsa {
  std::int64_t count, heads, group, size;
  Input y, v;
  Output o;
  __host__ __device__ std::int64_t rows() const { return count * heads; }
};
struct XsaBackward {
  std::int64_t count, kv_heads, group, size;
  Input y, v, d_o;
  Output dy, dv;
  __host__ __device__ std::int64_t rows() const { return count * kv_heads; }
};

cudaError_t launch(const RmsNorm& p, cudaStream_t stream);
cudaError_t launch(const RmsNormBackward& p, cudaStream_t stream);
cudaError_t launch(const RmsNormWeightGradient& p, cudaStream_t stream);
cudaError_t launch(const Xsa& p, cudaStream_t stream);
cudaError_t launch(const XsaBackward& p, cudaStream_t stream);

}  // namespace parity::cuda
