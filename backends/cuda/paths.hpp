#pragma once
#include <string_view>
#include <vector>

#include "backends/cuda/device_traits.hpp"
#include "backends/cuda/step.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::cuda {

/// A kernel path of this backend: what it declares, whether it is legal on the device, and how to make a
/// step.
struct Path {
  Implementation implementation;
  Support support;                                ///< on this device
  Support (*fits)(const GemmProblem&) = nullptr;  ///< further limits of one call; nullptr: none
  MakeStep make = nullptr;
};

/// Every path for every op, with what it computes on a device of these traits.
std::vector<Path> make_paths(const DeviceTraits& traits);

/// By name and op; nullptr when there is none.
const Path* find_path(const std::vector<Path>& paths, std::string_view path, std::string_view op);

/// Whether the path can take the call: precision, the device, then shapes and strides.
Support supports_call(const Path& path, const OpCall& call, const Program& program);

}  // namespace parity::cuda
