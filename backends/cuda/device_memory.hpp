#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>

#include "harness/base/result.hpp"

namespace parity::cuda {

// Owners of what the runtime hands out. Each belongs to the device that was current when it was made.
// `release()` gives ownership up: after a run that never ended, freeing would wait for it for ever.
struct FreeDeviceMemory {
  void operator()(void* p) const { cudaFree(p); }
};
struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using DeviceMemory = std::unique_ptr<void, FreeDeviceMemory>;
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

/// `what` names the buffer in the error ("tensor 'A'"); no bytes: a null pointer.
Result<DeviceMemory> allocate(std::size_t bytes, std::string_view what);
Result<Stream> make_stream();
Result<Event> make_event();

}  // namespace parity::cuda
