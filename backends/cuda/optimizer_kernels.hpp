#pragma once
// Optimizers and what they need of a gradient as a whole: docs/operations.md, "Optimizers" and "Embedding and
// reductions". Every product, sum, quotient and root is rounded on its own; sums over a whole tensor are row
// reductions with `whole_lanes` lanes over its elements in row-major order.
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

struct SquareSum {
  std::int64_t count, cols;  ///< elements in all, and of a row
  Input x;
  OutputVector s;
  __host__ __device__ std::int64_t rows() const { return 1; }
};
/// norm = sqrt(sum of s in sequence), factor = min(max_norm / (norm + 1e-6), 1).
struct ClipFactor {
  Extent extent;  ///< {1, 1, 1}
  std::int64_t count;
  InputVector s;
  OutputVector factor, norm;
  float max_norm;
};
/// Constants of the attributes, computed in fp64 and rounded once.
struct AdamW {
  Extent extent;
  Input p, g, m, v;
  InputVector correction;  ///< of m and of v
  Output p_next, m_next, v_next;
  float lr, beta1, one_minus_beta1, beta2, one_minus_beta2, eps, decay;  ///< decay: 1 - lr weight_decay
};
/// b_next = mu b + g, u = g + mu b_next
struct MuonMomentum {
  Extent extent;
  Input b, g;
  Output b_next, u;
  float mu;
};
/// y = x / (sqrt(sum x^2) + eps)
struct FrobeniusNormalize {
  std::int64_t count, cols;
  Input x;
  Output y;
  float eps;
  __host__ __device__ std::int64_t rows() const { return 1; }
};

cudaError_t launch(const SquareSum& p, cudaStream_t stream);
cudaError_t launch(const ClipFactor& p, cudaStream_t stream);
cudaError_t launch(const AdamW& p, cudaStream_t stream);
cudaError_t launch(const MuonMomentum& p, cudaStream_t stream);
cudaError_t launch(const FrobeniusNormalize& p, cudaStream_t stream);

}  // namespace parity::cuda
