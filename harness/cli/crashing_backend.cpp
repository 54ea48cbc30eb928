// A backend module for tests, in place of the CUDA one: two devices whose gemm does what faulty drivers do to
// the process that uses them. The case chooses: a sum of 102 to 113 terms meets a fault. A file `broken`
// beside the module lets nobody open the devices.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

void die_by(int signal) {
  std::signal(signal, SIG_DFL);  // a sanitizer would make an exit code of it
  ::raise(signal);
}

/// Into every file and pipe that the process has open, standard streams aside.
void write_garbage() {
  for (int descriptor = 3; descriptor < 64; ++descriptor)
    if (::write(descriptor, "\x7fgarbage\n", 9) < 0) continue;
}

/// A device that was lost stays lost for the process.
bool& lost() {
  static bool is = false;
  return is;
}

/// Whether no process was here before: the file that PARITY_TEST_MARK names is made by the first.
bool first_time() {
  const char* mark = std::getenv("PARITY_TEST_MARK");
  return mark != nullptr && !std::filesystem::exists(mark) && std::ofstream(mark) << "here";
}

Result<void> misbehave(std::int64_t k) {
  if (lost()) return fail(ErrorKind::device_failed, "the device is lost");
  switch (k - 100) {
    case 2:
      std::fputs("driver: page fault\n", stderr);
      die_by(SIGSEGV);
      break;
    case 3:
      die_by(SIGABRT);
      break;
    case 4:
      for (volatile bool forever = true; forever;) ::usleep(1000);
      break;
    case 5:
      ::_exit(0);
    case 6:
      write_garbage();
      break;
    case 7:
      die_by(SIGKILL);
      break;
    case 8:
      lost() = true;
      return fail(ErrorKind::device_failed, "the device was lost (planted)");
    case 9:
      // Chatter where results are printed.
      std::puts("driver: hello");
      std::fflush(stdout);
      break;
    case 13:
      // All the memory that it may have; the sizes are real, so that nothing is promised and not given.
      for (std::vector<std::vector<char>> all;;) all.emplace_back(std::size_t{16} << 20, 'x');
      break;
    case 11:
      if (first_time()) die_by(SIGSEGV);
      break;
    default:
      break;
  }
  return {};
}

/// Of a sum of 112 terms the process's first result is wrong.
void spoil(std::int64_t k, std::span<std::byte> result) {
  static bool spoilt = false;
  if (k != 112 || std::exchange(spoilt, true)) return;
  const float wrong = 1e9F;
  std::memcpy(result.data(), &wrong, sizeof wrong);
}

class CrashingBackend final : public Backend {
 public:
  CrashingBackend() : ops_(make_op_table()), cpu_(make_cpu_backend(ops_)) {}
  std::string_view name() const override { return "cuda"; }

  Result<std::vector<std::unique_ptr<Device>>> devices() override {
    if (broken()) die_by(SIGSEGV);
    const auto healthy = cpu_->devices();
    if (!healthy) return tl::unexpected(healthy.error());
    std::vector<std::unique_ptr<Device>> devices;
    for (const char* id : {"cuda:0", "cuda:1"}) {
      std::vector<HostPath> paths;
      for (const Implementation& i : healthy->front()->implementations())
        if (i.op == "gemm" && i.path == "sequential_f32" && i.input == DType::f32)
          paths.push_back({i, kernel(i)});
      devices.push_back(make_host_device({id, "cuda", "Crashing", "driver 1", "test", {}}, std::move(paths)));
    }
    return devices;
  }

 private:
  HostKernel kernel(const Implementation& implementation) const {
    return [healthy = emulated_kernel(ops_, implementation.replays.front())](
               const OpCall& call, const Program& program, HostMemory& memory) -> Result<void> {
      const std::int64_t k = program.spec(call.inputs.front()).shape.back();
      if (auto ok = misbehave(k); !ok) return ok;
      if (auto ok = healthy(call, program, memory); !ok) return ok;
      spoil(k, memory.payload(call.outputs.front()));
      return {};
    };
  }

  static bool broken() {
    Dl_info info{};
    std::error_code ignored;
    return ::dladdr(reinterpret_cast<const void*>(&lost), &info) != 0 && info.dli_fname &&
           std::filesystem::exists(std::filesystem::path(info.dli_fname).parent_path() / "broken", ignored);
  }

  OpTable ops_;
  std::unique_ptr<Backend> cpu_;
};

}  // namespace
}  // namespace parity

extern "C" {

__attribute__((visibility("default"))) const char* parity_backend_abi() {
  return parity::backend_abi;
}

__attribute__((visibility("default"))) parity::Backend* parity_backend_create(const parity::BackendOptions*) {
  return new parity::CrashingBackend();
}
}
