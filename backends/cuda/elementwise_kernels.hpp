#pragma once
// Elementwise ops: docs/operations.md, "Elementwise". Every product and sum is rounded on its own.
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// y = x, rounded to y's element type to nearest even.
struct Cast {
  Extent extent;
  MatrixPointer x;
  void* y = nullptr;
  std::int64_t y_batch = 0, y_row = 0, y_col = 1;
  Element y_element = Element::f32;
};
/// z = alpha x + beta y
struct Axpby {
  Extent extent;
  Input x, y;
  Output z;
  float alpha, beta;
};
struct Mul {
  Extent extent;
  Input x, y;
  Output z;
};
struct ScaleBy {
  Extent extent;
  Input x;
  InputVector s;  ///< one value
  Output y;
};
/// y = cap tanh(x / cap)
struct Softcap {
  Extent extent;
  Input x;
  Output y;
  float cap;
};
/// dx = dy (1 - t t), t = y / cap
struct SoftcapBackward {
  Extent extent;
  Input y, dy;
  Output dx;
  float cap;
};
/// sigmoid: dy (y (1 - y)); tanh: dy (1 - y y); relu: y > 0 ? dy : 0. Other activations are not taken.
struct ActivationBackward {
  Extent extent;
  Input y, dy;
  Output dx;
  Activation activation;
};

cudaError_t launch(const Cast& p, cudaStream_t stream);
cudaError_t launch(const Axpby& p, cudaStream_t stream);
cudaError_t launch(const Mul& p, cudaStream_t stream);
cudaError_t launch(const ScaleBy& p, cudaStream_t stream);
cudaError_t launch(const Softcap& p, cudaStream_t stream);
cudaError_t launch(const SoftcapBackward& p, cudaStream_t stream);
cudaError_t launch(const ActivationBackward& p, cudaStream_t stream);

}  // namespace parity::cuda
