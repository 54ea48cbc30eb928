#include "backends/cuda/cublas_context.hpp"

#include "backends/cuda/cuda_error.hpp"

namespace parity::cuda {

namespace {
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what the manual recommends from Hopper on
}

Result<std::unique_ptr<CublasContext>> CublasContext::create(std::shared_ptr<const CublasLibrary> library,
                                                             cudaStream_t stream) {
  CublasHandle handle = nullptr;
  if (auto ok = library->check(library->create(&handle), "creating a cuBLAS handle"); !ok) {
    return tl::unexpected(ok.error());
  }
  std::unique_ptr<CublasContext> context(new CublasContext(std::move(library), handle));
  const CublasLibrary& blas = *context->library_;
  if (auto ok = blas.check(blas.set_stream(handle, stream), "setting the stream of cuBLAS"); !ok) {
    return tl::unexpected(ok.error());
  }
  auto workspace = allocate(workspace_bytes, "the workspace of cuBLAS");
  if (!workspace) return tl::unexpected(workspace.error());
  context->workspace_ = *std::move(workspace);
  if (auto ok = blas.check(blas.set_workspace(handle, context->workspace_.get(), workspace_bytes),
                           "giving cuBLAS its workspace");
      !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = blas.check(blas.set_math_mode(handle, cublas_disallow_reduced_precision_reduction),
                           "setting the math mode of cuBLAS");
      !ok) {
    return tl::unexpected(ok.error());
  }
  return context;
}

CublasContext::~CublasContext() {
  if (handle_ != nullptr) library_->destroy(handle_);
}

void CublasContext::abandon() {
  handle_ = nullptr;
  static_cast<void>(workspace_.release());
}

}  // namespace parity::cuda
