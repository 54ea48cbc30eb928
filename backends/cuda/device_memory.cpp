#include "backends/cuda/device_memory.hpp"

#include <fmt/format.h>

#include "backends/cuda/cuda_error.hpp"

namespace parity::cuda {

Result<DeviceMemory> allocate(std::size_t bytes, std::string_view what) {
  if (bytes == 0) return DeviceMemory{};
  void* p = nullptr;
  const cudaError_t error = cudaMalloc(&p, bytes);
  if (error == cudaErrorMemoryAllocation) {
    std::size_t free_bytes = 0, total_bytes = 0;
    const bool known = cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess;
    const auto doing = fmt::format("allocating {} bytes for {}{}", bytes, what,
                                   known ? fmt::format(", with {} of {} free", free_bytes, total_bytes) : "");
    return tl::unexpected(check(error, doing).error());
  }
  if (auto ok = check(error, fmt::format("allocating {} bytes for {}", bytes, what)); !ok) {
    return tl::unexpected(ok.error());
  }
  return DeviceMemory(p);
}

Result<Stream> make_stream() {
  cudaStream_t stream = nullptr;
  if (auto ok = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream"); !ok) {
    return tl::unexpected(ok.error());
  }
  return Stream(stream);
}

Result<Event> make_event() {
  cudaEvent_t event = nullptr;
  if (auto ok = check(cudaEventCreate(&event), "creating an event"); !ok) return tl::unexpected(ok.error());
  return Event(event);
}

}  // namespace parity::cuda
