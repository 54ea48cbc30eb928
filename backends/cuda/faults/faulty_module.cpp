// The CUDA backend with faulty kernels, for `parity faults`: a module of its own, so that no fault is in the
// production one. The number of the planted fault lies in the devices' constant memory: one fault at a time.
#include <fmt/format.h>

#include <string_view>

#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/cuda_error.hpp"
#include "backends/cuda/planted_faults.hpp"

namespace parity::cuda {
namespace {

int number_of(std::string_view fault) {
  for (const PlantedFault& planted : planted_faults)
    if (planted.name == fault) return planted.number;
  return 0;
}

/// Plants its fault on every device before it lists them.
class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> backend, int number)
      : backend_(std::move(backend)), number_(number) {}
  std::string_view name() const override { return backend_->name(); }

  Result<std::vector<std::unique_ptr<Device>>> devices() override {
    auto devices = backend_->devices();
    if (!devices) return devices;
    int count = 0;
    if (auto ok = check(cudaGetDeviceCount(&count), "looking for CUDA devices"); !ok)
      return tl::unexpected(ok.error());
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      const std::string what = fmt::format("planting a fault on cuda:{}", ordinal);
      if (auto ok = check(cudaSetDevice(ordinal), what); !ok) return tl::unexpected(ok.error());
      if (auto ok = check(plant(number_), what); !ok) return tl::unexpected(ok.error());
    }
    return devices;
  }

 private:
  std::unique_ptr<Backend> backend_;
  int number_;
};

}  // namespace
}  // namespace parity::cuda

extern "C" {

__attribute__((visibility("default"))) const char* parity_backend_abi() {
  return parity::backend_abi;
}

/// No backend unless the options name a fault that is planted here.
__attribute__((visibility("default"))) parity::Backend* parity_backend_create(
    const parity::BackendOptions* options) {
  if (options == nullptr) return nullptr;
  const int number = parity::cuda::number_of(options->fault);
  if (number == 0) return nullptr;
  return new parity::cuda::FaultyBackend(parity::make_cuda_backend(*options), number);
}
}
