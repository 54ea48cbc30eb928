#include "backends/cuda/device_traits.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "backends/cuda/cuda_error.hpp"
#include "backends/cuda/kernels.hpp"

namespace parity::cuda {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

namespace {

/// "580.159" from the kernel module's own version file; empty where there is none.
std::string kernel_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    const bool digits = word.find_first_not_of("0123456789.") == std::string::npos;
    if (digits && word.find('.') != std::string::npos) return word;
  }
  return {};
}

std::string mebibytes(std::size_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

std::vector<DeviceFact> facts_of(const cudaDeviceProp& properties, const DeviceTraits& traits, int driver,
                                 int runtime) {
  std::vector<DeviceFact> facts;
  const auto add = [&](const char* group, const char* name, std::string value) {
    facts.push_back({group, name, std::move(value)});
  };
  add("driver", "CUDA version of the driver", version_text(driver));
  add("driver", "CUDA runtime", version_text(runtime));
  add("driver", "kernels built for", PARITY_CUDA_BUILT_FOR);
  add("driver", "kernels run here", traits.no_image.empty() ? "yes" : "no: " + traits.no_image);
  add("driver", "cuBLAS",
      traits.cublas ? fmt::format("{} ({})", traits.cublas->version, traits.cublas->file)
                    : "no: " + traits.no_cublas);
  add("limits", "compute capability", fmt::format("{}.{}", traits.major, traits.minor));
  add("limits", "multiprocessors", fmt::format("{}", traits.multiprocessors));
  add("limits", "warp size", fmt::format("{}", properties.warpSize));
  add("limits", "threads per block", fmt::format("{}", properties.maxThreadsPerBlock));
  add("limits", "shared memory per block", fmt::format("{} bytes", properties.sharedMemPerBlock));
  add("limits", "shared memory per block, opt-in",
      fmt::format("{} bytes", properties.sharedMemPerBlockOptin));
  add("limits", "memory", mebibytes(properties.totalGlobalMem));
  add("limits", "L2 cache", mebibytes(static_cast<std::size_t>(properties.l2CacheSize)));
  add("numerics", "denormals", "preserved (built without -ftz)");
  add("numerics", "contraction", "none but written fma (built with -fmad=false)");
  add("numerics", "division and square root", "correctly rounded");
  add("numerics", "fp16 tensor cores", yes_no(traits.capability() >= 70));
  add("numerics", "bf16 tensor cores", yes_no(traits.capability() >= 80));
  add("numerics", "TF32",
      traits.capability() < 80 ? "no"
                               : (traits.tf32_disabled ? "available, switched off by NVIDIA_TF32_OVERRIDE=0"
                                                       : "available; used by cublas_tf32 only"));
  return facts;
}

}  // namespace

Result<QueriedDevice> query_device(int ordinal, const Result<std::shared_ptr<const CublasLibrary>>& cublas) {
  const auto doing = [ordinal](std::string_view what) {
    return fmt::format("CUDA device {}: {}", ordinal, what);
  };
  if (auto ok = check(cudaSetDevice(ordinal), doing("making it current")); !ok)
    return tl::unexpected(ok.error());
  cudaDeviceProp properties{};
  if (auto ok = check(cudaGetDeviceProperties(&properties, ordinal), doing("reading its properties")); !ok) {
    return tl::unexpected(ok.error());
  }
  int driver = 0, runtime = 0;
  if (auto ok = check(cudaDriverGetVersion(&driver), doing("reading the driver's version")); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = check(cudaRuntimeGetVersion(&runtime), doing("reading the runtime's version")); !ok) {
    return tl::unexpected(ok.error());
  }

  QueriedDevice device;
  DeviceTraits& traits = device.traits;
  traits.ordinal = ordinal;
  traits.major = properties.major;
  traits.minor = properties.minor;
  traits.multiprocessors = properties.multiProcessorCount > 0 ? properties.multiProcessorCount : 1;
  if (const cudaError_t error = probe_kernel_image(); error != cudaSuccess) {
    traits.no_image = describe(error, fmt::format("kernels built for {} on compute capability {}.{}",
                                                  PARITY_CUDA_BUILT_FOR, traits.major, traits.minor));
  }
  if (cublas) {
    traits.cublas = *cublas;
  } else {
    traits.no_cublas = cublas.error().message;
  }
  const char* override_text = std::getenv("NVIDIA_TF32_OVERRIDE");
  traits.tf32_disabled = override_text != nullptr && std::string_view(override_text) == "0";

  const std::string version = kernel_driver_version();
  device.info.id = fmt::format("cuda:{}", ordinal);
  device.info.backend = "cuda";
  device.info.name = properties.name;
  device.info.driver =
      version.empty() ? fmt::format("NVIDIA, CUDA {}", version_text(driver)) : "NVIDIA " + version;
  device.info.api = fmt::format("CUDA {}", version_text(runtime));
  device.info.facts = facts_of(properties, traits, driver, runtime);
  return device;
}

}  // namespace parity::cuda
