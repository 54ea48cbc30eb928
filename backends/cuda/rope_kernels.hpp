#pragma once
// Rotary position embedding and the gain of a head: docs/operations.md, "Normalisation and rotation".
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

enum class Pairing : std::uint8_t {
  half_split,   ///< columns i and i + rotary / 2 of a head
  interleaved,  ///< columns 2i and 2i + 1
};

/// y1 = x1 c + x2 s, y2 = x2 c - x1 s with the position's cosine and sine; `inverse` turns the sines' signs.
/// Columns of a head from `rotary` on are copied.
struct Rope {
  Extent extent;
  std::int64_t seq, head_dim, rotary;
  Pairing pairing;
  bool inverse;
  Input x, cos, sin;
  Output y;
};
/// y = x gain[head]
struct HeadScale {
  Extent extent;
  std::int64_t head_dim;
  Input x;
  InputVector gain;
  Output y;
};
/// dgain[head]: a row reduction over dy x, row by row; `whole_lanes` lanes.
struct HeadScaleGainGradient {
  std::int64_t heads, count, head_dim;  ///< count: rows
  Input x, dy;
  OutputVector dgain;
  __host__ __device__ std::int64_t rows() const { return heads; }
};

cudaError_t launch(const Rope& p, cudaStream_t stream);
cudaError_t launch(const HeadScale& p, cudaStream_t stream);
cudaError_t launch(const HeadScaleGainGradient& p, cudaStream_t stream);

}  // namespace parity::cuda
