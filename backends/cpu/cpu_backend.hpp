#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"

namespace parity {

/// The bytes of a Program's tensors on the host, each between two guard zones; a view lies in its root's
/// bytes.
class HostMemory {
 public:
  static Result<HostMemory> create(const Program& program);
  /// The tensor's own bytes (extent, pads included). A kernel that goes outside them reads or damages the
  /// guards.
  std::span<std::byte> payload(TensorId id);
  std::span<const std::byte> payload(TensorId id) const;
  /// A copy as a Tensor.
  Result<Tensor> tensor(TensorId id) const;
  /// Copies the bytes of a tensor that has the spec's dtype, shape and strides.
  Result<void> assign(TensorId id, const Tensor& tensor);
  /// A tensor's elements alone, without gaps, and back: of a view of rows that lie a sequence apart the copy
  /// above is as long as the sequence.
  Result<Tensor> elements(TensorId id) const;
  Result<void> assign_elements(TensorId id, const Tensor& compact);
  std::vector<GuardDamage> guard_damage() const;

 private:
  std::vector<TensorSpec> specs_;
  std::vector<std::vector<std::byte>> buffers_;
};

/// Runs one op call on host memory.
using HostKernel =
    std::function<Result<void>(const OpCall& call, const Program& program, HostMemory& memory)>;

/// A path of a host device: what it declares, and the code.
struct HostPath {
  Implementation implementation;
  HostKernel kernel;
};

/// A device whose kernels are host functions. The cpu backend runs the emulated arithmetic on it; tests plant
/// faulty kernels.
std::unique_ptr<Device> make_host_device(DeviceInfo info, std::vector<HostPath> paths);

/// A host kernel that evaluates the op's reference in the emulated arithmetic of `model`.
HostKernel emulated_kernel(const OpTable& ops, const ArithmeticModel& model);

/// What `parity probe` asks about (device_function.hpp), in fp32: the functions of the emulated arithmetic of
/// `model`, others by this processor; tensors without gaps.
HostKernel device_function_kernel(const ArithmeticModel& model);

/// The emulated arithmetic as a device, "cpu:0": the whole ladder runs anywhere. `ops` must outlive it.
std::unique_ptr<Backend> make_cpu_backend(const OpTable& ops);

}  // namespace parity
