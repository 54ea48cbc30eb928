#pragma once
// Attention, grouped-query, causal or not: docs/operations.md, "Attention". One block per query row and head,
// its scores in shared memory; the backward pass adds one block per key row and kv head. Every sum is one
// chain in sequence: dot products over the columns, sums of p and of p v over the keys, those of dK and dV
// over the heads of a group and of each the queries. No atomics.
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// Limits of shared memory: keys (seq) of the forward and of the backward pass, columns of a head in the
/// backward pass.
inline constexpr std::int64_t attention_keys = 8192;
inline constexpr std::int64_t attention_backward_keys = 4096;
inline constexpr std::int64_t attention_backward_head_dim = 4096;

/// Tokens [count, heads * size]; row = batch entry * seq + t.
struct AttentionInputs {
  std::int64_t count, heads, kv_heads, seq, size;
  bool causal;
  float scale;
  Input q, k, v;
  Indices valid;  ///< one per row; data == nullptr: every key takes part
};
struct Attention {
  AttentionInputs in;
  Output o;
};
struct AttentionBackward {
  AttentionInputs in;
  Input d_o;
  Output dq, dk, dv;
  /// Scratch, 3 * count * heads: the maximum, the sum of exponentials and rowsum(P dP) of each query and
  /// head.
  float* statistics = nullptr;
};

cudaError_t launch(const Attention& p, cudaStream_t stream);
cudaError_t launch(const AttentionBackward& p, cudaStream_t stream);

}  // namespace parity::cuda
