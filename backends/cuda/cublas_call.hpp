#pragma once
#include "backends/cuda/cublas_loader.hpp"
#include "backends/cuda/problem.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::cuda {

/// The arguments of cublasGemm(StridedBatched)Ex for a row-major problem. cuBLAS is column-major, where a
/// row-major matrix reads as its transpose: D^T = op(B)^T op(A)^T, so the operands change places ("first" is
/// B) and keep their transposition flags. No data is moved.
struct CublasCall {
  CublasOperation op_first = cublas_op_n, op_second = cublas_op_n;
  int m = 0, n = 0, k = 0;  ///< of D^T: m counts D's columns
  int ld_first = 1, ld_second = 1, ld_result = 1;
  long long stride_first = 0, stride_second = 0, stride_result = 0;
  int batch = 1;
};

/// unsupported when a leading dimension does not fit the interface's int, C has another dtype than D, or
/// alpha is 0 (the BLAS convention does not read A and B then, the reference does).
Support fits_cublas(const GemmProblem& problem);
/// The same of integers: cuBLAS takes their factors where rows, and the entries of a batch, start on
/// multiples of four bytes, and promises no result for sums that leave int32.
Support fits_cublas_i8(const GemmProblem& problem);
/// Only for a problem that fits.
CublasCall cublas_call(const GemmProblem& problem);

}  // namespace parity::cuda
