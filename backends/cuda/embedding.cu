#include "backends/cuda/element_loop.cuh"
#include "backends/cuda/embedding_kernels.hpp"

namespace parity::cuda {

using std::int64_t;

/// All elements +0.
struct Clear {
  Extent extent;
  Output y;
};
static __device__ void element(const Clear& p, int64_t b, int64_t r, int64_t c) {
  p.y(b, r, c) = 0.0f;
}

static __device__ void element(const Embedding& p, int64_t, int64_t r, int64_t c) {
  const int64_t id = p.ids[r];
  p.y(r, c) = id >= 0 && id < p.vocabulary ? p.table(id, c) : NAN;
}

static __device__ void element(const EmbeddingBackward& p, int64_t, int64_t v, int64_t c) {
  float chain = 0.0f;
  for (int64_t r = 0; r < p.count; ++r)
    if (p.ids[r] == v) chain = __fadd_rn(chain, p.dy(r, c));
  p.dtable(v, c) = chain;
}

static __device__ void element(const EmbeddingBackwardAtomic& p, int64_t, int64_t r, int64_t c) {
  const int64_t id = p.ids[r];
  if (id >= 0 && id < p.vocabulary) atomicAdd(&p.dtable(id, c), p.dy(r, c));
}

static __device__ void element(const GradientReduction& p, int64_t, int64_t, int64_t c) {
  float chain = 0.0f;
  for (int64_t r = 0; r < p.count; ++r) chain = __fadd_rn(chain, p.x(r, c));
  p.y[c] = chain;
}

static __device__ void element(const GradientReductionAtomic& p, int64_t, int64_t part, int64_t c) {
  float chain = 0.0f;
  for (int64_t r = part; r < p.count; r += p.extent.rows) chain = __fadd_rn(chain, p.x(r, c));
  atomicAdd(&p.y[c], chain);
}

cudaError_t launch(const Embedding& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const EmbeddingBackward& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const EmbeddingBackwardAtomic& p, cudaStream_t stream) {
  const Clear clear{{1, p.vocabulary, p.extent.cols}, p.dtable};
  if (const cudaError_t error = launch_elements(clear, stream); error != cudaSuccess) return error;
  return launch_elements(p, stream);
}
cudaError_t launch(const GradientReduction& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const GradientReductionAtomic& p, cudaStream_t stream) {
  const Clear clear{{1, 1, p.extent.cols}, {p.y.data, 0, 0, p.y.stride}};
  if (const cudaError_t error = launch_elements(clear, stream); error != cudaSuccess) return error;
  return launch_elements(p, stream);
}

}  // namespace parity::cuda
