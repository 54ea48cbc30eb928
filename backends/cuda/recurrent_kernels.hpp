#pragma once
// The elementwise part of a GRU (linear before reset): docs/operations.md, "Recurrent". Every product and sum
// is rounded on its own. Sizes are [B, H]; the gates of A, U, dA and dU lie beside each other as r | z | n,
// H columns each.
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// y = activation(a + u)
struct GruGate {
  Extent extent;
  Input a, u;
  Output y;
  Activation activation;
};
struct GruGates {
  Extent extent;
  Input a, u, h;
  Output h_next, r, z, n;
};
struct GruGatesBackward {
  Extent extent;
  Input u, h, r, z, n, dh_next;
  Output da, du, dh;
};
/// h_next = (1 - z) n + z h
struct GruBlend {
  Extent extent;
  Input z, n, h;
  Output h_next;
};
struct GruBlendBackward {
  Extent extent;
  Input z, n, h, dh_next;
  Output dz, dn, dh;
};

cudaError_t launch(const GruGate& p, cudaStream_t stream);
cudaError_t launch(const GruGates& p, cudaStream_t stream);
cudaError_t launch(const GruGatesBackward& p, cudaStream_t stream);
cudaError_t launch(const GruBlend& p, cudaStream_t stream);
cudaError_t launch(const GruBlendBackward& p, cudaStream_t stream);

}  // namespace parity::cuda
