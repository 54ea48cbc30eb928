#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/backend.hpp"

namespace parity::cli {

/// A backend or a backend's devices that are not here, and why.
struct AbsentBackend {
  std::string name, reason;
};

/// The backends of this machine and their devices. The CPU backend is linked in; the others are modules.
struct BackendSet {
  std::vector<std::unique_ptr<Backend>> backends;  ///< declared before the devices, which live in them
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<AbsentBackend> absent;
};

/// Where this program lies. `argv0` is asked where the kernel names the dynamic loader instead (a program
/// started as `ld.so PROGRAM`).
std::filesystem::path executable_path(const char* argv0);

/// The folder of the backend modules: $PARITY_BACKEND_DIR, else ../lib/parity beside the executable.
std::filesystem::path backend_directory(const std::filesystem::path& executable);

/// Loads the backends and lists their devices. `only`: names of the backends wanted; empty: all. A backend
/// that cannot be loaded or has no device is listed as absent; nothing here is an error.
BackendSet load_backends(const OpTable& ops, const BackendOptions& options,
                         const std::filesystem::path& directory, const std::vector<std::string>& only = {});

/// The module of a backend ("vulkan", "cuda") whose kernels can be made faulty, with options.fault planted.
Result<std::unique_ptr<Backend>> load_faulty_backend(std::string_view name, const BackendOptions& options,
                                                     const std::filesystem::path& directory);

/// The backend names that device choices ("vulkan", "cuda:0", "H200") need; empty: all of them.
std::vector<std::string> backends_for(const std::vector<std::string>& choices);

/// Whether a device is the one chosen: by id, by backend or by a part of its name, without regard to case.
bool is_chosen(const DeviceInfo& device, const std::string& choice);

/// The devices chosen, in their order here: by id ("vulkan:0"), by backend ("vulkan") or by a part of the
/// name, without regard to case. No choice: all. A choice that fits none is an error of kind missing_device
/// that lists what is here and what is absent.
Result<std::vector<Device*>> select_devices(const BackendSet& set, const std::vector<std::string>& choices);

}  // namespace parity::cli
