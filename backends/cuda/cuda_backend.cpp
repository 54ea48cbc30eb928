#include "backends/cuda/cuda_backend.hpp"

#include <fmt/format.h>

#include "backends/cuda/cuda_error.hpp"
#include "backends/cuda/session.hpp"

namespace parity {

namespace cuda {
namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(QueriedDevice queried, double timeout_seconds)
      : traits_(std::move(queried.traits)),
        info_(std::move(queried.info)),
        paths_(make_paths(traits_)),
        timeout_seconds_(timeout_seconds) {
    for (const Path& path : paths_) implementations_.push_back(path.implementation);
  }

  const DeviceInfo& info() const override { return info_; }
  const std::vector<Implementation>& implementations() const override { return implementations_; }

  Support supports(const Implementation& implementation) const override {
    const Path* path = find_path(paths_, implementation);
    return path != nullptr ? path->support : no_path(implementation.path, implementation.op);
  }

  Support supports(const Implementation& implementation, const OpCall& call,
                   const Program& program) const override {
    const Path* path = find_path(paths_, implementation);
    return path != nullptr ? supports_call(*path, call, program)
                           : no_path(implementation.path, implementation.op);
  }

  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& names) override {
    if (names.size() != program.calls.size()) {
      return fail(ErrorKind::internal,
                  fmt::format("{} paths for {} calls", names.size(), program.calls.size()));
    }
    std::vector<const Path*> chosen;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto path = choose_path(paths_, names[i], program.calls[i], program);
      if (!path) return fail(path.error().kind, fmt::format("{}: {}", info_.id, path.error().message));
      chosen.push_back(*path);
    }
    auto session = CudaSession::load(traits_, program, chosen, timeout_seconds_);
    if (!session) return tl::unexpected(session.error());
    return *std::move(session);
  }

 private:
  Support no_path(std::string_view path, std::string_view op) const {
    return {Support::Kind::unsupported, fmt::format("the CUDA backend has no path '{}' for '{}'", path, op)};
  }

  DeviceTraits traits_;
  DeviceInfo info_;
  std::vector<Path> paths_;
  std::vector<Implementation> implementations_;
  double timeout_seconds_;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const BackendOptions& options) : options_(options) {}
  std::string_view name() const override { return "cuda"; }

  Result<std::vector<std::unique_ptr<Device>>> devices() override {
    int count = 0;
    if (auto ok = check(cudaGetDeviceCount(&count), "looking for CUDA devices"); !ok) {
      return fail(ErrorKind::missing_device, ok.error().message);
    }
    if (count == 0)
      return fail(ErrorKind::missing_device, describe(cudaErrorNoDevice, "looking for CUDA devices"));
    const auto cublas = load_cublas();  // one failure to load is a fact about each device, not the end
    std::vector<std::unique_ptr<Device>> devices;
    std::string reasons;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      auto queried = query_device(ordinal, cublas);
      if (!queried) {
        reasons += (reasons.empty() ? "" : "; ") + queried.error().message;
        continue;
      }
      devices.push_back(std::make_unique<CudaDevice>(*std::move(queried), options_.timeout_seconds));
    }
    if (devices.empty()) return fail(ErrorKind::missing_device, reasons);
    return devices;
  }

 private:
  BackendOptions options_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options) {
  return std::make_unique<cuda::CudaBackend>(options);
}

}  // namespace parity
