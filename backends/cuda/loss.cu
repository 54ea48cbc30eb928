#include "backends/cuda/element_loop.cuh"
#include "backends/cuda/loss_kernels.hpp"
#include "backends/cuda/row_loop.cuh"

namespace parity::cuda {

using std::int64_t;
using RowLanes = Lanes<row_lanes>;

/// The row's maximum, and the sum of exp(l - maximum). A NaN that the maximum passes over stays in the sum.
struct RowSum {
  float maximum, sum;
};
static __device__ RowSum sum_of_exponentials(const Input& logits, int64_t vocabulary, const RowLanes& lanes,
                                             int64_t r) {
  float largest = -INFINITY;
  for (int64_t c = lanes.lane(); c < vocabulary; c += row_lanes) largest = fmaxf(largest, logits(r, c));
  const float maximum = lanes.maximum(largest);
  float chain = 0.0f;
  for (int64_t c = lanes.lane(); c < vocabulary; c += row_lanes)
    chain = __fadd_rn(chain, expf(__fsub_rn(logits(r, c), maximum)));
  return {maximum, lanes.sum(chain)};
}

static __device__ void row(const SoftmaxCrossEntropy& p, const RowLanes& lanes, int64_t r) {
  const RowSum s = sum_of_exponentials(p.logits, p.vocabulary, lanes, r);
  if (lanes.lane() != 0) return;
  const int64_t target = p.targets[r];
  p.row_loss[r] = target >= 0 && target < p.vocabulary
                      ? __fsub_rn(__fadd_rn(s.maximum, logf(s.sum)), p.logits(r, target))
                      : NAN;
}

static __device__ void row(const SoftmaxCrossEntropyBackward& p, const RowLanes& lanes, int64_t r) {
  const RowSum s = sum_of_exponentials(p.logits, p.vocabulary, lanes, r);
  const int64_t target = p.targets[r];
  const bool known = target >= 0 && target < p.vocabulary;
  const float drow = known ? p.drow[r] : NAN;
  for (int64_t c = lanes.lane(); c < p.vocabulary; c += row_lanes) {
    const float softmax = __fdiv_rn(expf(__fsub_rn(p.logits(r, c), s.maximum)), s.sum);
    p.dlogits(r, c) = __fmul_rn(c == target ? __fsub_rn(softmax, 1.0f) : softmax, drow);
  }
}

static __device__ void row(const Mean& p, const Lanes<whole_lanes>& lanes, int64_t) {
  float chain = 0.0f;
  for (int64_t i = lanes.lane(); i < p.count; i += whole_lanes) chain = __fadd_rn(chain, p.x[i]);
  const float sum = lanes.sum(chain);
  if (lanes.lane() == 0) p.y[0] = __fdiv_rn(sum, static_cast<float>(p.count));
}

static __device__ void element(const MeanBackward& p, int64_t, int64_t, int64_t i) {
  p.dx[i] = __fdiv_rn(p.dy[0], static_cast<float>(p.extent.cols));
}

cudaError_t launch(const SoftmaxCrossEntropy& p, cudaStream_t stream) {
  return launch_rows<row_lanes>(p, stream);
}
cudaError_t launch(const SoftmaxCrossEntropyBackward& p, cudaStream_t stream) {
  return launch_rows<row_lanes>(p, stream);
}
cudaError_t launch(const Mean& p, cudaStream_t stream) {
  return launch_rows<whole_lanes>(p, stream);
}
cudaError_t launch(const MeanBackward& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}

}  // namespace parity::cuda
