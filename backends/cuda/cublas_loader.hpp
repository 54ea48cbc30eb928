#pragma once
#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "harness/base/result.hpp"

namespace parity::cuda {

// The few names of the cuBLAS interface that are used, declared here because the library is loaded at run
// time and its headers need not be installed. cublas_loader.cpp checks the numbers against the headers where
// they are.
using CublasHandle = struct cublasContext*;
using CublasStatus = int;  // 0: success
enum CublasOperation : int { cublas_op_n = 0, cublas_op_t = 1 };
enum CublasCompute : int {
  cublas_compute_16f = 64,
  cublas_compute_32f = 68,
  cublas_compute_32f_pedantic = 69,
  cublas_compute_32i = 72,
  cublas_compute_32f_fast_tf32 = 77,
};
enum CublasMath : int { cublas_disallow_reduced_precision_reduction = 16 };
inline constexpr int cublas_gemm_default = -1;
inline constexpr CublasStatus cublas_status_not_supported = 15;

/// libcublas, loaded. Functions as in the cuBLAS manual.
struct CublasLibrary {
  std::shared_ptr<void> module;
  std::string file;     ///< the name it was loaded by
  std::string version;  ///< "13.0.2"

  CublasStatus (*create)(CublasHandle*) = nullptr;
  CublasStatus (*destroy)(CublasHandle) = nullptr;
  CublasStatus (*set_stream)(CublasHandle, cudaStream_t) = nullptr;
  CublasStatus (*set_math_mode)(CublasHandle, int) = nullptr;
  CublasStatus (*set_workspace)(CublasHandle, void*, std::size_t) = nullptr;
  CublasStatus (*gemm_ex)(CublasHandle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                          const void* a, cudaDataType a_type, int lda, const void* b, cudaDataType b_type,
                          int ldb, const void* beta, void* c, cudaDataType c_type, int ldc, int compute,
                          int algorithm) = nullptr;
  CublasStatus (*gemm_strided_batched_ex)(CublasHandle, int op_a, int op_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long stride_a, const void* b, cudaDataType b_type, int ldb,
                                          long long stride_b, const void* beta, void* c, cudaDataType c_type,
                                          int ldc, long long stride_c, int batch, int compute,
                                          int algorithm) = nullptr;
  const char* (*status_string)(CublasStatus) = nullptr;

  /// "cublasGemmEx: CUBLAS_STATUS_NOT_SUPPORTED (15)" as an error of kind device_failed; nothing for success.
  Result<void> check(CublasStatus status, std::string_view doing) const;
};

/// Tries the versions that this interface is stable over, newest first; the error lists what was tried.
Result<std::shared_ptr<const CublasLibrary>> load_cublas();

}  // namespace parity::cuda
