#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/ladder/op.hpp"
#include "harness/ladder/program.hpp"
#include "harness/numerics/arithmetic_model.hpp"

namespace parity {

/// How well the order of a path's reductions is known.
enum class OrderKnowledge : std::uint8_t {
  declared,    ///< our own kernel: one of its models must give equal bits, once confirmed on the device
  candidates,  ///< a vendor's kernel: a model may fit, depending on shape; a misfit is no fault
  unknown,
};

/// One kernel path of a backend for an op. Plain data: what it computes with and what it is.
struct Implementation {
  std::string path;     ///< "tiled_f32", "coopmat_f16_f32", ...
  std::string op;       ///< the op it implements ("gemm"; a path may appear once per op)
  std::string summary;  ///< one line for `parity list`
  /// Input and accumulate dtypes it takes; store dtypes are those listed. The first `factors` input ports
  /// (the operands of the product: A and B, or X and W) are in `input`; later ones (addends: C, bias) always
  /// have the dtype of the output that is stored. Ports of indices (i32) are exempt. 0: no port is a factor,
  /// all have the store's dtype.
  std::size_t factors = 2;
  DType input = DType::f32, accumulate = DType::f32;
  std::vector<DType> stores;
  FloatFormat multiply = format_of(DType::f32);
  OrderKnowledge knowledge = OrderKnowledge::unknown;
  /// Bounds and spread come from this one (precision.store is set by the runner to the case's).
  ArithmeticModel contract;
  /// Arithmetics it may legally have, most likely first; each with definite accumulation and denormals.
  std::vector<ArithmeticModel> replays;
};

/// Whether something can be done here, and if not exactly why.
struct Support {
  enum class Kind : std::uint8_t {
    legal,
    not_applicable,  ///< another precision or op: no row in the table
    unsupported,     ///< the device, driver or size forbids it: a row with the reason
  } kind = Kind::legal;
  std::string reason;
  bool legal() const { return kind == Kind::legal; }
};

/// A fact about a device, for `parity devices` and the records: "shader_float16" = "yes".
struct DeviceFact {
  std::string group;  ///< "driver", "limits", "numerics", "cooperative matrices"
  std::string name, value;
};

struct DeviceInfo {
  std::string id;       ///< "cpu:0", "vulkan:1", "cuda:0": backend and index
  std::string backend;  ///< "cpu", "vulkan", "cuda"
  std::string name;     ///< "NVIDIA H200"
  std::string driver;   ///< name and version
  std::string api;      ///< "Vulkan 1.4.312", "CUDA 13.0"
  std::vector<DeviceFact> facts;
};

/// Damage found around or inside a buffer after a run.
struct GuardDamage {
  std::string tensor;
  std::int64_t byte_offset = 0;  ///< relative to the tensor's first byte: negative in front, >= size behind
  std::int64_t bytes = 0;        ///< damaged bytes in that zone
};

struct RunTiming {
  double host_seconds = 0;
  std::optional<double> device_seconds;  ///< by the device's own clock
  std::vector<double> call_seconds;      ///< the same, one per call of the program; empty: not measured
};

/// A Program loaded on a device, its buffers resident: write inputs, run as often as wanted, read any tensor.
/// Every buffer carries guard zones filled with Poison::guard in front and behind (guarded_buffer.hpp).
class Session {
 public:
  virtual ~Session() = default;
  /// Uploads the whole extent, pads included. dtype, shape and strides must be the spec's.
  virtual Result<void> write(TensorId id, const Tensor& tensor) = 0;
  /// Runs every call once, in order, and waits. An error of kind device_failed or timed_out means the session
  /// is dead.
  virtual Result<RunTiming> run() = 0;
  virtual Result<Tensor> read(TensorId id) = 0;
  /// Copies every pair of Program::carries on the device: `from` of the last run is `to` of the next.
  virtual Result<void> advance() = 0;
  /// Looks at the guard zones of every buffer.
  virtual Result<std::vector<GuardDamage>> check_guards() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Every implementation of the backend, whether legal here or not.
  virtual const std::vector<Implementation>& implementations() const = 0;
  /// Whether `implementation` is legal on this device at all.
  virtual Support supports(const Implementation& implementation) const = 0;
  /// Whether it can take this call (precision, sizes, strides, limits); supports(implementation) included.
  virtual Support supports(const Implementation& implementation, const OpCall& call,
                           const Program& program) const = 0;
  /// Loads the program with one path per call (paths.size() == calls.size()); never replaces a path.
  virtual Result<std::unique_ptr<Session>> load(const Program& program,
                                                const std::vector<std::string>& paths) = 0;
};

/// A family of devices.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// The devices here; an error says why there is none (no driver, no loader).
  virtual Result<std::vector<std::unique_ptr<Device>>> devices() = 0;
};

/// What the command asks of a backend.
struct BackendOptions {
  bool validate = false;  ///< Vulkan: validation layer with synchronization validation; messages are errors
  double timeout_seconds = 60;  ///< of one run on the device; beyond it the session is dead (timed_out)
  /// A fault of the catalogue to plant (`parity faults`). Only modules made for that take one; others give no
  /// backend.
  std::string fault = {};
};

// What a loadable backend module exports, with C linkage:
//   const char* parity_backend_abi();            must equal backend_abi, else the module is refused
//   parity::Backend* parity_backend_create(const parity::BackendOptions*);    owned by the caller, destroyed
//                                                before the module is unloaded
inline constexpr const char* backend_abi = "parity-backend-2 " __VERSION__;

/// Common part of Device::supports for a call: op, input, accumulate and store dtypes against the
/// implementation's; not_applicable with the reason when they differ.
Support matches_precision(const Implementation& implementation, const OpCall& call, const Program& program);

}  // namespace parity
