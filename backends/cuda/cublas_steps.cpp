// Steps that run the vendor's GEMM.
#include <fmt/format.h>

#include "backends/cuda/cublas_call.hpp"
#include "backends/cuda/cuda_error.hpp"
#include "backends/cuda/gemm_steps.hpp"
#include "harness/tensor/convert.hpp"

namespace parity::cuda {

namespace {

cudaDataType data_type(Element element) {
  switch (element) {
    case Element::f16:
      return CUDA_R_16F;
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::f32:
      break;
  }
  return CUDA_R_32F;
}

Element accumulator(CublasCompute compute) {
  return compute == cublas_compute_16f ? Element::f16 : Element::f32;
}

/// Whether our own epilogue has something to do.
bool needs_epilogue(const GemmProblem& p, CublasCompute compute) {
  if (p.bias || p.activation != Activation::identity) return true;
  return compute == cublas_compute_16f && (p.alpha != 1 || p.c || p.d.dtype != DType::f16);
}

/// A plain gemm is left to the library altogether (D = C first, then beta in place). With a bias or an
/// activation the library makes a product in scratch memory, and our own epilogue does the rest; with an fp16
/// accumulator, whose alpha and beta would be fp16 numbers too, wherever there is more to do than a product.
class CublasStep final : public Step {
 public:
  CublasStep(const CublasContext& cublas, const GemmArguments& arguments, const CublasCall& call,
             CublasCompute compute, DeviceMemory scratch)
      : cublas_(cublas),
        arguments_(arguments),
        call_(call),
        compute_(compute),
        scratch_(std::move(scratch)) {}

  Result<void> launch(cudaStream_t stream) override {
    const GemmArguments& p = arguments_;
    const Epilogue& e = p.epilogue;
    if (p.m == 0 || p.n == 0 || p.batch == 0) return {};
    if (p.k == 0) {
      // An empty sum is no call of the library's: what is left is our epilogue over zeros.
      return check(launch_epilogue(nullptr, Element::f32, p.m, p.n, p.batch, e, stream),
                   "launching the epilogue");
    }
    if (scratch_ != nullptr) {
      const Element element = accumulator(compute_);
      if (auto ok = multiply(1.0f, 0.0f, scratch_.get(), element); !ok) return ok;
      return check(launch_epilogue(scratch_.get(), element, p.m, p.n, p.batch, e, stream),
                   "launching the epilogue");
    }
    if (e.c.data != nullptr) {
      const auto copied = check(launch_copy(e.c, e.d, e.d_row, e.d_col, e.d_batch, p.m, p.n, p.batch, stream),
                                "copying C into D");
      if (!copied) return copied;
    }
    return multiply(e.alpha, e.c.data != nullptr ? e.beta : 0.0f, e.d, e.d_element);
  }

 private:
  Result<void> multiply(float alpha, float beta, void* result, Element result_element) const {
    const CublasLibrary& blas = cublas_.library();
    const GemmArguments& p = arguments_;
    const CublasCall& c = call_;
    const cudaDataType a = data_type(p.a.element), b = data_type(p.b.element), d = data_type(result_element);
    // The factors have the format of the computation.
    const std::uint16_t narrow[] = {f32_to_f16(alpha), f32_to_f16(beta)};
    const bool f16 = compute_ == cublas_compute_16f;
    const void* const scale = f16 ? static_cast<const void*>(&narrow[0]) : &alpha;
    const void* const keep = f16 ? static_cast<const void*>(&narrow[1]) : &beta;
    const CublasStatus status =
        c.batch == 1 ? blas.gemm_ex(cublas_.handle(), c.op_first, c.op_second, c.m, c.n, c.k, scale, p.b.data,
                                    b, c.ld_first, p.a.data, a, c.ld_second, keep, result, d, c.ld_result,
                                    compute_, cublas_gemm_default)
                     : blas.gemm_strided_batched_ex(
                           cublas_.handle(), c.op_first, c.op_second, c.m, c.n, c.k, scale, p.b.data, b,
                           c.ld_first, c.stride_first, p.a.data, a, c.ld_second, c.stride_second, keep,
                           result, d, c.ld_result, c.stride_result, c.batch, compute_, cublas_gemm_default);
    return blas.check(status, fmt::format("cuBLAS gemm m={} n={} k={} batch={}", p.m, p.n, p.k, p.batch));
  }

  const CublasContext& cublas_;
  GemmArguments arguments_;
  CublasCall call_;
  CublasCompute compute_;
  DeviceMemory scratch_;
};

Result<std::unique_ptr<Step>> make_cublas_step(StepContext& context, const GemmProblem& problem,
                                               CublasCompute compute) {
  const auto cublas = cublas_of(context);
  if (!cublas) return tl::unexpected(cublas.error());
  CublasCall call = cublas_call(problem);
  DeviceMemory scratch;
  if (needs_epilogue(problem, compute) && !problem.empty()) {
    const auto elements = static_cast<std::size_t>(problem.batch) * static_cast<std::size_t>(problem.m) *
                          static_cast<std::size_t>(problem.n);
    auto allocated =
        allocate(elements * (accumulator(compute) == Element::f16 ? 2 : 4), "the scratch of a product");
    if (!allocated) return tl::unexpected(allocated.error());
    scratch = *std::move(allocated);
    call.ld_result = static_cast<int>(problem.n);
    call.stride_result = problem.m * problem.n;
  }
  return std::make_unique<CublasStep>(**cublas, gemm_arguments(context, problem), call, compute,
                                      std::move(scratch));
}

}  // namespace

Result<const CublasContext*> cublas_of(StepContext& context) {
  if (context.traits->cublas == nullptr) return fail(ErrorKind::unsupported, context.traits->no_cublas);
  if (context.cublas == nullptr) {
    auto created = CublasContext::create(context.traits->cublas, context.stream);
    if (!created) return tl::unexpected(created.error());
    context.cublas = *std::move(created);
  }
  return context.cublas.get();
}

Result<std::unique_ptr<Step>> make_cublas_f32_step(StepContext& context, const GemmProblem& problem) {
  return make_cublas_step(context, problem, cublas_compute_32f_pedantic);
}

Result<std::unique_ptr<Step>> make_cublas_tf32_step(StepContext& context, const GemmProblem& problem) {
  return make_cublas_step(context, problem, cublas_compute_32f_fast_tf32);
}

Result<std::unique_ptr<Step>> make_cublas_narrow_step(StepContext& context, const GemmProblem& problem) {
  return make_cublas_step(context, problem, cublas_compute_32f);
}

Result<std::unique_ptr<Step>> make_cublas_f16_step(StepContext& context, const GemmProblem& problem) {
  return make_cublas_step(context, problem, cublas_compute_16f);
}

}  // namespace parity::cuda
