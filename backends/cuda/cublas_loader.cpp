#include "backends/cuda/cublas_loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif

namespace parity::cuda {

#if __has_include(<cublas_v2.h>)
static_assert(CUBLAS_STATUS_SUCCESS == 0 && CUBLAS_STATUS_NOT_SUPPORTED == cublas_status_not_supported &&
              static_cast<int>(CUBLAS_OP_N) == cublas_op_n && static_cast<int>(CUBLAS_OP_T) == cublas_op_t);
static_assert(static_cast<int>(CUBLAS_COMPUTE_16F) == cublas_compute_16f &&
              static_cast<int>(CUBLAS_COMPUTE_32F) == cublas_compute_32f &&
              static_cast<int>(CUBLAS_COMPUTE_32I) == cublas_compute_32i &&
              static_cast<int>(CUBLAS_COMPUTE_32F_PEDANTIC) == cublas_compute_32f_pedantic &&
              static_cast<int>(CUBLAS_COMPUTE_32F_FAST_TF32) == cublas_compute_32f_fast_tf32);
static_assert(static_cast<int>(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) ==
                  cublas_disallow_reduced_precision_reduction &&
              static_cast<int>(CUBLAS_GEMM_DEFAULT) == cublas_gemm_default);
#endif

namespace {

std::vector<std::string> candidates() {
  std::vector<std::string> names;
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}) {
    names.emplace_back(name);
    // A toolkit that is installed but not known to the dynamic linker.
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* root = std::getenv(variable); root != nullptr && *root != '\0') {
        names.push_back(fmt::format("{}/lib64/{}", root, name));
      }
    }
    names.push_back(fmt::format("/usr/local/cuda/lib64/{}", name));
  }
  return names;
}

template <class Function>
bool find(void* module, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(module, symbol));
  return function != nullptr;
}

/// The name of the first function that is missing, or nullptr.
const char* resolve(CublasLibrary& library) {
  void* const m = library.module.get();
  if (!find(m, "cublasCreate_v2", library.create)) return "cublasCreate_v2";
  if (!find(m, "cublasDestroy_v2", library.destroy)) return "cublasDestroy_v2";
  if (!find(m, "cublasSetStream_v2", library.set_stream)) return "cublasSetStream_v2";
  if (!find(m, "cublasSetMathMode", library.set_math_mode)) return "cublasSetMathMode";
  if (!find(m, "cublasSetWorkspace_v2", library.set_workspace)) return "cublasSetWorkspace_v2";
  if (!find(m, "cublasGemmEx", library.gemm_ex)) return "cublasGemmEx";
  if (!find(m, "cublasGemmStridedBatchedEx", library.gemm_strided_batched_ex))
    return "cublasGemmStridedBatchedEx";
  if (!find(m, "cublasGetStatusString", library.status_string)) return "cublasGetStatusString";
  return nullptr;
}

std::string version_of(void* module) {
  CublasStatus (*get_property)(libraryPropertyType, int*) = nullptr;
  int major = 0, minor = 0, patch = 0;
  if (!find(module, "cublasGetProperty", get_property) || get_property(MAJOR_VERSION, &major) != 0 ||
      get_property(MINOR_VERSION, &minor) != 0 || get_property(PATCH_LEVEL, &patch) != 0) {
    return "unknown version";
  }
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace

Result<void> CublasLibrary::check(CublasStatus status, std::string_view doing) const {
  if (status == 0) return {};
  return fail(ErrorKind::device_failed, fmt::format("{}: {} ({})", doing, status_string(status), status));
}

Result<std::shared_ptr<const CublasLibrary>> load_cublas() {
  std::string reasons;
  for (const std::string& name : candidates()) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", why != nullptr ? why : name);
      continue;
    }
    auto library = std::make_shared<CublasLibrary>();
    library->module = std::shared_ptr<void>(handle, [](void* p) { dlclose(p); });
    library->file = name;
    if (const char* missing = resolve(*library); missing != nullptr) {
      reasons += fmt::format("{}{} has no {}", reasons.empty() ? "" : "; ", name, missing);
      continue;
    }
    library->version = version_of(handle);
    return library;
  }
  return fail(
      ErrorKind::unsupported,
      fmt::format("cuBLAS cannot be loaded ({}): install it, or set LD_LIBRARY_PATH or CUDA_HOME", reasons));
}

}  // namespace parity::cuda
