#include <algorithm>

#include "backends/cpu/faults/fault_kernels.hpp"

namespace parity::planted {

std::unique_ptr<Device> make_faulty_cpu_device(const OpTable& ops, const std::string& name) {
  const std::vector<Fault> faults = all_faults();
  const auto fault = std::ranges::find(faults, name, &Fault::name);
  if (fault == faults.end()) return nullptr;
  const auto cpu = make_cpu_backend(ops)->devices();
  if (!cpu) return nullptr;
  std::vector<HostPath> paths;
  for (const Implementation& implementation : cpu->front()->implementations()) {
    const ArithmeticModel& model = implementation.replays.front();
    paths.push_back({implementation, implementation.op == fault->op ? fault->kernel(ops, model)
                                                                    : emulated_kernel(ops, model)});
  }
  return make_host_device(cpu->front()->info(), std::move(paths));
}

}  // namespace parity::planted
