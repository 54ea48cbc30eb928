#include "harness/cli/backend_loader.hpp"
#include "harness/base/text.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "backends/cpu/cpu_backend.hpp"

namespace parity::cli {
namespace {

namespace fs = std::filesystem;

struct Module {
  std::string_view name, file, advice;
};
constexpr std::array<Module, 2> modules = {{
    {"vulkan", "libparity_vulkan.so",
     "build with the Vulkan headers and a shader compiler there (ci/setup.sh)"},
    {"cuda", "libparity_cuda.so", "build with nvcc in the PATH or CUDACXX set"},
}};

bool is_dynamic_loader(const fs::path& file) {
  return file.filename().string().starts_with("ld");
}

bool is_program(const fs::path& file) {
  std::error_code error;
  return !file.empty() && !is_dynamic_loader(file) && fs::is_regular_file(file, error);
}

fs::path found_in_path(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable ? variable : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == rest.npos ? std::string_view{} : rest.substr(colon + 1);
  }
  return {};
}

Result<std::unique_ptr<Backend>> load_module(const fs::path& file, const BackendOptions& options) {
  // The module stays loaded until the process ends: drivers leave threads and exit handlers behind.
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return fail(ErrorKind::unsupported, fmt::format("cannot be loaded: {}", ::dlerror()));
  using Abi = const char* (*)();
  using Create = Backend* (*)(const BackendOptions*);
  const auto abi = reinterpret_cast<Abi>(::dlsym(handle, "parity_backend_abi"));
  const auto create = reinterpret_cast<Create>(::dlsym(handle, "parity_backend_create"));
  if (!abi || !create)
    return fail(ErrorKind::unsupported, fmt::format("{} is no backend module", file.string()));
  if (std::string_view(abi()) != backend_abi)
    return fail(ErrorKind::unsupported,
                fmt::format("{} was built as '{}' and this program needs '{}'; build both together",
                            file.string(), abi(), backend_abi));
  std::unique_ptr<Backend> backend(create(&options));
  if (!backend && !options.fault.empty())
    return fail(ErrorKind::unsupported,
                fmt::format("{} has no kernel with the fault '{}'", file.filename().string(), options.fault));
  if (!backend) return fail(ErrorKind::unsupported, fmt::format("{} gave no backend", file.string()));
  return backend;
}

void add_backend(BackendSet& set, std::string name, Result<std::unique_ptr<Backend>> backend) {
  if (!backend) {
    set.absent.push_back({std::move(name), backend.error().message});
    return;
  }
  auto devices = (*backend)->devices();
  if (!devices)
    set.absent.push_back({name, devices.error().message});
  else if (devices->empty())
    set.absent.push_back({name, "it has no device here"});
  else
    for (auto& device : *devices) set.devices.push_back(std::move(device));
  set.backends.push_back(std::move(*backend));
}

}  // namespace

fs::path executable_path(const char* argv0) {
  std::error_code error;
  std::vector<fs::path> candidates = {fs::read_symlink("/proc/self/exe", error)};
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&executable_path), &info) != 0 && info.dli_fname)
    candidates.emplace_back(info.dli_fname);
  if (argv0) {
    candidates.emplace_back(argv0);
    if (std::string_view(argv0).find('/') == std::string_view::npos)
      candidates.push_back(found_in_path(argv0));
  }
  for (const fs::path& candidate : candidates)
    if (is_program(candidate)) return fs::weakly_canonical(candidate, error);
  return {};
}

fs::path backend_directory(const fs::path& executable) {
  const char* directory = std::getenv("PARITY_BACKEND_DIR");
  if (directory && *directory) return directory;
  return executable.parent_path().parent_path() / "lib" / "parity";
}

BackendSet load_backends(const OpTable& ops, const BackendOptions& options, const fs::path& directory,
                         const std::vector<std::string>& only) {
  const auto wanted = [&](std::string_view name) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  BackendSet set;
  if (wanted("cpu")) add_backend(set, "cpu", make_cpu_backend(ops));
  for (const Module& module : modules) {
    if (!wanted(module.name)) continue;
    const fs::path file = directory / module.file;
    std::error_code error;
    if (!fs::exists(file, error))
      set.absent.push_back(
          {std::string(module.name), fmt::format("{} was not built; {}", file.string(), module.advice)});
    else
      add_backend(set, std::string(module.name), load_module(file, options));
  }
  return set;
}

Result<std::unique_ptr<Backend>> load_faulty_backend(std::string_view name, const BackendOptions& options,
                                                     const fs::path& directory) {
  const fs::path file = directory / fmt::format("libparity_{}_faulty.so", name);
  std::error_code error;
  if (!fs::exists(file, error))
    return fail(ErrorKind::unsupported, fmt::format("{} was not built", file.string()));
  return load_module(file, options);
}

std::vector<std::string> backends_for(const std::vector<std::string>& choices) {
  std::vector<std::string> names;
  for (const std::string& choice : choices) {
    const std::string name = choice.substr(0, choice.find(':'));
    const bool known =
        name == "cpu" || std::any_of(modules.begin(), modules.end(),
                                     [&](const Module& module) { return module.name == name; });
    if (!known) return {};
    names.push_back(name);
  }
  return names;
}

bool is_chosen(const DeviceInfo& device, const std::string& choice) {
  return choice == device.id || choice == device.backend ||
         (!choice.empty() && contains_word(device.name, choice));
}

Result<std::vector<Device*>> select_devices(const BackendSet& set, const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    const bool found = std::any_of(set.devices.begin(), set.devices.end(),
                                   [&](const auto& device) { return is_chosen(device->info(), choice); });
    if (found) continue;
    std::string message = fmt::format("no device fits --device {}", choice);
    message += set.devices.empty() ? "; there is none here" : "; here are:";
    for (const auto& device : set.devices)
      message += fmt::format("\n  {}  {}", device->info().id, device->info().name);
    for (const AbsentBackend& absent : set.absent)
      message += fmt::format("\n  {} is absent: {}", absent.name, absent.reason);
    if (set.devices.empty() || !backends_for(choices).empty())
      message += "\n(`parity devices` lists every device)";
    return fail(ErrorKind::missing_device, std::move(message));
  }
  std::vector<Device*> selected;
  for (const auto& device : set.devices) {
    const bool chosen =
        choices.empty() || std::any_of(choices.begin(), choices.end(), [&](const std::string& choice) {
          return is_chosen(device->info(), choice);
        });
    if (chosen) selected.push_back(device.get());
  }
  if (selected.empty()) return fail(ErrorKind::missing_device, "there is no device here");
  return selected;
}

}  // namespace parity::cli
