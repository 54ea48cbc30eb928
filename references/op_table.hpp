#pragma once
#include <memory>
#include <vector>

#include "harness/ladder/op.hpp"

namespace parity {

/// D = alpha op(A) op(B) + beta C; see gemm.cpp.
std::unique_ptr<const Op> make_gemm_op();
/// Y = activation(X W^T + bias); see linear.cpp.
std::unique_ptr<const Op> make_linear_op();

// The other families, one file each; the page docs/operations.md describes their ops.
std::vector<std::unique_ptr<const Op>> make_elementwise_ops();
std::vector<std::unique_ptr<const Op>> make_recurrent_ops();
std::vector<std::unique_ptr<const Op>> make_norm_ops();
std::vector<std::unique_ptr<const Op>> make_rope_ops();
std::vector<std::unique_ptr<const Op>> make_attention_ops();
std::vector<std::unique_ptr<const Op>> make_xsa_ops();
std::vector<std::unique_ptr<const Op>> make_loss_ops();
std::vector<std::unique_ptr<const Op>> make_embedding_ops();
std::vector<std::unique_ptr<const Op>> make_reduction_ops();
std::vector<std::unique_ptr<const Op>> make_optimizer_ops();
std::vector<std::unique_ptr<const Op>> make_trace_ops();

/// Every op there is a reference for, listed by hand.
OpTable make_op_table();

}  // namespace parity
