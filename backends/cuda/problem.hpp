#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/cuda/kernels.hpp"
#include "harness/ladder/program.hpp"

namespace parity::cuda {

/// A matrix port of a call, as stored: rows x cols per batch entry, strides in elements (batch 0: one matrix
/// for every entry). The stride of a dimension of size 1 is made to look contiguous.
struct MatrixPort {
  TensorId id = no_tensor;
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 1, batch_stride = 0;
};

/// What `gemm` and `linear` come to: D = activation(alpha * op(A) op(B) + beta * C + bias), per batch entry.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 0;
  MatrixPort a, b, d;
  std::optional<MatrixPort> c;   ///< only when beta != 0: C is not read otherwise
  std::optional<TensorId> bias;  ///< n values
  DType bias_dtype = DType::f32;
  std::int64_t bias_stride = 1;
  Activation activation = Activation::identity;

  bool empty() const { return m == 0 || n == 0 || batch == 0; }
};

/// Reads a call of an op this backend knows; unsupported, with the reason, when the kernels cannot take it
/// (rank, dtype, sizes beyond int, an inner stride other than 1).
using ReadProblem = Result<GemmProblem> (*)(const OpCall& call, const Program& program);
/// gemm: ports A, B, C (optional) -> D; attributes trans_a, trans_b, alpha, beta.
Result<GemmProblem> read_gemm(const OpCall& call, const Program& program);
/// The same of integers: A and B of i8, C and D of i32, whole alpha and beta.
Result<GemmProblem> read_integer_gemm(const OpCall& call, const Program& program);
/// linear: ports X [m, k], W [n, k], bias [n] (optional) -> Y; attribute activation.
Result<GemmProblem> read_linear(const OpCall& call, const Program& program);

std::optional<Element> element_of(DType dtype);
/// By the op's name for it; nothing for one that the kernels do not have.
std::optional<Activation> activation_of(std::string_view name);

}  // namespace parity::cuda
