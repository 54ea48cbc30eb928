#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/cuda/device_traits.hpp"
#include "backends/cuda/step.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::cuda {

/// A kernel path of this backend: what it declares, whether it is legal on the device, and how a call's step
/// is made.
struct Path {
  Implementation implementation;
  Support support;  ///< on this device
  /// Whether the kernels can take the call's shapes, strides, attributes and dtypes.
  std::function<Support(const OpCall&, const Program&)> fits;
  /// The step of a call that fits. Allocates what it needs beside the program's tensors.
  std::function<Result<std::unique_ptr<Step>>(StepContext&, const OpCall&, const Program&)> make;
};

/// Every path for every op, with what it computes on a device of these traits.
std::vector<Path> make_paths(const DeviceTraits& traits);

/// What `implementation` belongs to (same name, op and input dtype); nullptr when there is none.
const Path* find_path(std::span<const Path> paths, const Implementation& implementation);
/// By name and op, the first of them; nullptr when there is none.
const Path* find_path(std::span<const Path> paths, std::string_view path, std::string_view op);
/// The path of that name that can take the call. The error, of kind unsupported, says why none can.
Result<const Path*> choose_path(std::span<const Path> paths, std::string_view path, const OpCall& call,
                                const Program& program);

/// Whether the path can take the call: precision, the device, then shapes and strides.
Support supports_call(const Path& path, const OpCall& call, const Program& program);

/// Legal from compute capability `capability` (major * 10 + minor) on, if this build has code for the device;
/// `what` needs it.
Support needs_capability(const DeviceTraits& traits, int capability, std::string_view what);

}  // namespace parity::cuda
