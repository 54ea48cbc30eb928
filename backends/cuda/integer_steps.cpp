// Steps of products of integers: this project's own kernels and the vendor's.
#include <fmt/format.h>

#include "backends/cuda/cublas_call.hpp"
#include "backends/cuda/cuda_error.hpp"
#include "backends/cuda/gemm_steps.hpp"
#include "backends/cuda/kernel_step.hpp"

namespace parity::cuda {

namespace {

template <class T>
View<T> view(const StepContext& context, const MatrixPort& port, bool transposed) {
  return {static_cast<T*>(context.address(port.id)), port.batch_stride,
          transposed ? port.col_stride : port.row_stride, transposed ? port.row_stride : port.col_stride};
}

class CublasIntegerStep final : public Step {
 public:
  CublasIntegerStep(const CublasContext& cublas, const IntegerGemm& arguments, const CublasCall& call)
      : cublas_(cublas), arguments_(arguments), call_(call) {}

  Result<void> launch(cudaStream_t stream) override {
    const IntegerGemm& p = arguments_;
    if (p.m == 0 || p.n == 0 || p.batch == 0) return {};
    // An empty sum is no call of the library's: what is left is our epilogue over zeros.
    if (p.k == 0) return check(launch_integer_epilogue(p, stream), "launching the epilogue");
    if (p.c.data != nullptr) {
      // The library adds to what stands in D.
      const MatrixPointer c{p.c.data, p.c.row, p.c.col, p.c.batch, Element::f32};  // any word of four bytes
      const auto copied =
          check(launch_copy(c, p.d.data, p.d.row, p.d.col, p.d.batch, p.m, p.n, p.batch, stream),
                "copying C into D");
      if (!copied) return copied;
    }
    return multiply();
  }

 private:
  Result<void> multiply() const {
    const CublasLibrary& blas = cublas_.library();
    const IntegerGemm& p = arguments_;
    const CublasCall& c = call_;
    const std::int32_t beta = p.c.data != nullptr ? p.beta : 0;
    const CublasStatus status =
        c.batch == 1
            ? blas.gemm_ex(cublas_.handle(), c.op_first, c.op_second, c.m, c.n, c.k, &p.alpha, p.b.data,
                           CUDA_R_8I, c.ld_first, p.a.data, CUDA_R_8I, c.ld_second, &beta, p.d.data,
                           CUDA_R_32I, c.ld_result, cublas_compute_32i, cublas_gemm_default)
            : blas.gemm_strided_batched_ex(cublas_.handle(), c.op_first, c.op_second, c.m, c.n, c.k, &p.alpha,
                                           p.b.data, CUDA_R_8I, c.ld_first, c.stride_first, p.a.data,
                                           CUDA_R_8I, c.ld_second, c.stride_second, &beta, p.d.data,
                                           CUDA_R_32I, c.ld_result, c.stride_result, c.batch,
                                           cublas_compute_32i, cublas_gemm_default);
    auto done =
        blas.check(status, fmt::format("cuBLAS int8 gemm m={} n={} k={} batch={}", p.m, p.n, p.k, p.batch));
    // Which layouts and sizes it has kernels for differs by device and version: only the library knows.
    if (status == cublas_status_not_supported)
      return fail(ErrorKind::unsupported, done.error().message + ": the library has no kernel for it here");
    return done;
  }

  const CublasContext& cublas_;
  IntegerGemm arguments_;
  CublasCall call_;
};

}  // namespace

IntegerGemm integer_gemm(const StepContext& context, const GemmProblem& problem) {
  IntegerGemm p;
  p.m = static_cast<int>(problem.m);
  p.n = static_cast<int>(problem.n);
  p.k = static_cast<int>(problem.k);
  p.batch = static_cast<int>(problem.batch);
  p.a = view<const std::int8_t>(context, problem.a, problem.trans_a);
  p.b = view<const std::int8_t>(context, problem.b, problem.trans_b);
  p.alpha = static_cast<std::int32_t>(problem.alpha);
  p.beta = static_cast<std::int32_t>(problem.beta);
  if (problem.c) p.c = view<const std::int32_t>(context, *problem.c, false);
  p.d = view<std::int32_t>(context, problem.d, false);
  return p;
}

Result<std::unique_ptr<Step>> make_tiled_i8_step(StepContext& context, const GemmProblem& problem) {
  return make_kernel_step(context, launch_tiled_i8, "launching tiled_i8_i32", integer_gemm(context, problem));
}

Result<std::unique_ptr<Step>> make_wmma_i8_step(StepContext& context, const GemmProblem& problem) {
  return make_kernel_step(context, launch_wmma_i8, "launching wmma_i8_i32", integer_gemm(context, problem));
}

Result<std::unique_ptr<Step>> make_cublas_i8_step(StepContext& context, const GemmProblem& problem) {
  const auto cublas = cublas_of(context);
  if (!cublas) return tl::unexpected(cublas.error());
  return std::make_unique<CublasIntegerStep>(**cublas, integer_gemm(context, problem), cublas_call(problem));
}

}  // namespace parity::cuda
