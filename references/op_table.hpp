#pragma once
#include <memory>

#include "harness/ladder/op.hpp"

namespace parity {

/// D = alpha op(A) op(B) + beta C; see gemm.cpp.
std::unique_ptr<const Op> make_gemm_op();
/// Y = activation(X W^T + bias); see linear.cpp.
std::unique_ptr<const Op> make_linear_op();

/// Every op there is a reference for, listed by hand.
OpTable make_op_table();

}  // namespace parity
