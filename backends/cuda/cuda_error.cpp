#include "backends/cuda/cuda_error.hpp"

#include <fmt/format.h>

namespace parity::cuda {

bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorNvlinkUncorrectable:
      return true;
    default:
      return false;
  }
}

namespace {

std::string_view advice(cudaError_t error) {
  if (is_sticky(error)) {
    return "; the process's CUDA context is lost, and later sessions in this process fail too: start the "
           "command "
           "again";
  }
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "; there is no NVIDIA driver here, or it is older than the CUDA version this was built with: "
             "install "
             "or update the driver";
    case cudaErrorNoDevice:
      return "; there is a driver but no device it can use (see CUDA_VISIBLE_DEVICES)";
    case cudaErrorMemoryAllocation:
      return "; choose a smaller case or free memory on the device";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return "; this build has no code for the device: build with -DPARITY_CUDA_ARCHITECTURES=portable";
    default:
      return "";
  }
}

}  // namespace

std::string describe(cudaError_t error, std::string_view doing) {
  return fmt::format("{}: {} ({}, {}){}", doing, cudaGetErrorString(error), cudaGetErrorName(error),
                     static_cast<int>(error), advice(error));
}

Result<void> check(cudaError_t error, std::string_view doing) {
  if (error == cudaSuccess) return {};
  const std::string message = describe(error, doing);
  cudaGetLastError();  // an error that is not sticky must not be met again by the next launch's check
  return fail(error == cudaErrorMemoryAllocation ? ErrorKind::unsupported : ErrorKind::device_failed,
              message);
}

}  // namespace parity::cuda
