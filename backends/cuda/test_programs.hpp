#pragma once
// Small gemm and linear Programs for the tests of this folder.
#include "harness/ladder/program.hpp"

namespace parity::cuda {

struct GemmShape {
  std::int64_t m = 4, n = 5, k = 6, batch = 1;
  bool trans_a = false, trans_b = false, share_b = false;
  std::int64_t pad = 0;  ///< elements between rows, of every matrix
  double alpha = 1, beta = 0;
  bool with_c = false;
};

inline TensorSpec matrix(std::string name, DType dtype, std::int64_t batch, std::int64_t rows,
                         std::int64_t cols, std::int64_t pad,
                         TensorSpec::Role role = TensorSpec::Role::input) {
  TensorSpec spec{std::move(name), dtype, {rows, cols}, {}, role};
  if (batch != 1) spec.shape.insert(spec.shape.begin(), batch);
  spec.strides = leading_strides(spec.shape, cols + pad);
  return spec;
}

/// Tensors 0: A, 1: B, 2: D, 3: C if asked for.
inline Program gemm_program(const GemmShape& s, DType input, DType store) {
  Program program;
  program.tensors = {
      matrix("A", input, s.batch, s.trans_a ? s.k : s.m, s.trans_a ? s.m : s.k, s.pad),
      matrix("B", input, s.share_b ? 1 : s.batch, s.trans_b ? s.n : s.k, s.trans_b ? s.k : s.n, s.pad),
      matrix("D", store, s.batch, s.m, s.n, s.pad, TensorSpec::Role::output)};
  OpCall call{"gemm", {}, {0, 1, no_tensor}, {2}};
  call.attributes = Attributes{{"trans_a", std::int64_t{s.trans_a}},
                               {"trans_b", std::int64_t{s.trans_b}},
                               {"alpha", s.alpha},
                               {"beta", s.beta}};
  if (s.with_c) {
    program.tensors.push_back(matrix("C", store, s.batch, s.m, s.n, s.pad));
    call.inputs[2] = 3;
  }
  program.calls.push_back(call);
  return program;
}

/// Tensors 0: X, 1: W, 2: Y, 3: bias if asked for.
inline Program linear_program(std::int64_t m, std::int64_t n, std::int64_t k, DType input, DType store,
                              bool bias, const std::string& activation, std::int64_t pad = 0) {
  Program program;
  program.tensors = {matrix("X", input, 1, m, k, pad), matrix("W", input, 1, n, k, pad),
                     matrix("Y", store, 1, m, n, pad, TensorSpec::Role::output)};
  OpCall call{"linear", Attributes{{"activation", activation}}, {0, 1, no_tensor}, {2}};
  if (bias) {
    program.tensors.push_back({"bias", store, {n}, {1}, TensorSpec::Role::input});
    call.inputs[2] = 3;
  }
  program.calls.push_back(call);
  return program;
}

}  // namespace parity::cuda
