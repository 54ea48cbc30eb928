#include "backends/cuda/element_loop.cuh"
#include "backends/cuda/elementwise_kernels.hpp"
#include "backends/cuda/epilogue.cuh"

namespace parity::cuda {
using std::int64_t;

static __device__ float one_minus(float x) {
  return __fsub_rn(1.0f, x);
}

static __device__ void element(const Cast& p, int64_t b, int64_t r, int64_t c) {
  const float x = load_element(p.x.data, b * p.x.batch + r * p.x.row + c * p.x.col, p.x.element);
  store_element(p.y, b * p.y_batch + r * p.y_row + c * p.y_col, p.y_element, x);
}

static __device__ void element(const Axpby& p, int64_t b, int64_t r, int64_t c) {
  p.z(b, r, c) = __fadd_rn(__fmul_rn(p.alpha, p.x(b, r, c)), __fmul_rn(p.beta, p.y(b, r, c)));
}

static __device__ void element(const Mul& p, int64_t b, int64_t r, int64_t c) {
  p.z(b, r, c) = __fmul_rn(p.x(b, r, c), p.y(b, r, c));
}

static __device__ void element(const ScaleBy& p, int64_t b, int64_t r, int64_t c) {
  p.y(b, r, c) = __fmul_rn(p.x(b, r, c), p.s[0]);
}

static __device__ void element(const Softcap& p, int64_t b, int64_t r, int64_t c) {
  p.y(b, r, c) = __fmul_rn(p.cap, tanhf(__fdiv_rn(p.x(b, r, c), p.cap)));
}

static __device__ void element(const SoftcapBackward& p, int64_t b, int64_t r, int64_t c) {
  const float t = __fdiv_rn(p.y(b, r, c), p.cap);
  p.dx(b, r, c) = __fmul_rn(p.dy(b, r, c), one_minus(__fmul_rn(t, t)));
}

static __device__ void element(const ActivationBackward& p, int64_t b, int64_t r, int64_t c) {
  const float y = p.y(b, r, c), dy = p.dy(b, r, c);
  float dx = y > 0.0f ? dy : 0.0f;
  if (p.activation == Activation::sigmoid) dx = __fmul_rn(dy, __fmul_rn(y, one_minus(y)));
  if (p.activation == Activation::tanh) dx = __fmul_rn(dy, one_minus(__fmul_rn(y, y)));
  p.dx(b, r, c) = dx;
}

cudaError_t launch(const Cast& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const Axpby& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const Mul& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const ScaleBy& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const Softcap& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const SoftcapBackward& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}
cudaError_t launch(const ActivationBackward& p, cudaStream_t stream) {
  return launch_elements(p, stream);
}

}  // namespace parity::cuda
