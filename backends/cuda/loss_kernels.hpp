#pragma once
// Cross entropy and the mean: docs/operations.md, "Loss".
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// A target outside the vocabulary gives NaN: the reference refuses it.
struct SoftmaxCrossEntropy {
  std::int64_t count, vocabulary;
  Input logits;
  Indices targets;
  OutputVector row_loss;
  __host__ __device__ std::int64_t rows() const { return count; }
};
struct SoftmaxCrossEntropyBackward {
  std::int64_t count, vocabulary;
  Input logits;
  Indices targets;
  InputVector drow;
  Output dlogits;
  __host__ __device__ std::int64_t rows() const { return count; }
};
/// y = sum x / count: a row reduction with `whole_lanes` lanes.
struct Mean {
  std::int64_t count;
  InputVector x;
  OutputVector y;
  __host__ __device__ std::int64_t rows() const { return 1; }
};
struct MeanBackward {
  Extent extent;  ///< {1, 1, count}
  InputVector dy;
  OutputVector dx;
};

cudaError_t launch(const SoftmaxCrossEntropy& p, cudaStream_t stream);
cudaError_t launch(const SoftmaxCrossEntropyBackward& p, cudaStream_t stream);
cudaError_t launch(const Mean& p, cudaStream_t stream);
cudaError_t launch(const MeanBackward& p, cudaStream_t stream);

}  // namespace parity::cuda
