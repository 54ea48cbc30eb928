#include "harness/cli/faulty_devices.hpp"

#include <fmt/format.h>

#include "backends/cpu/faults/fault_kernels.hpp"

namespace parity::cli {

Result<Device*> FaultyDevices::with(const std::string& fault, const Device& healthy) {
  devices_.clear();
  backend_.reset();
  const DeviceInfo& info = healthy.info();
  if (info.backend == "cpu") {
    devices_.push_back(planted::make_faulty_cpu_device(ops_, fault));
    if (devices_.back() == nullptr)
      return fail(ErrorKind::unsupported, fmt::format("the CPU device has no fault '{}'", fault));
    return devices_.back().get();
  }
  BackendOptions options = options_;
  options.fault = fault;
  auto backend = load_faulty_backend(info.backend, options, directory_);
  if (!backend) return tl::unexpected(backend.error());
  backend_ = *std::move(backend);
  auto devices = backend_->devices();
  if (!devices) return tl::unexpected(devices.error());
  devices_ = *std::move(devices);
  for (const auto& device : devices_)
    if (device->info().id == info.id) return device.get();
  return fail(ErrorKind::unsupported, fmt::format("the module with faults does not find {}", info.id));
}

}  // namespace parity::cli
