#include "backends/cuda/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backends/cuda/families.hpp"

namespace parity::cuda {

std::vector<Path> make_paths(const DeviceTraits& traits) {
  std::vector<Path> paths;
  for (auto* family :
       {gemm_paths, elementwise_paths, recurrent_paths, rows_paths, rope_paths, attention_paths, loss_paths,
        embedding_paths, optimizer_paths, device_function_paths, trace_paths})
    std::ranges::move(family(traits), std::back_inserter(paths));
  return paths;
}

const Path* find_path(std::span<const Path> paths, const Implementation& implementation) {
  for (const Path& candidate : paths) {
    const Implementation& i = candidate.implementation;
    if (i.path == implementation.path && i.op == implementation.op && i.input == implementation.input)
      return &candidate;
  }
  return nullptr;
}

const Path* find_path(std::span<const Path> paths, std::string_view path, std::string_view op) {
  for (const Path& candidate : paths) {
    if (candidate.implementation.path == path && candidate.implementation.op == op) return &candidate;
  }
  return nullptr;
}

Result<const Path*> choose_path(std::span<const Path> paths, std::string_view path, const OpCall& call,
                                const Program& program) {
  std::string reasons;
  for (const Path& candidate : paths) {
    if (candidate.implementation.path != path || candidate.implementation.op != call.op) continue;
    const Support support = supports_call(candidate, call, program);
    if (support.legal()) return &candidate;
    reasons += (reasons.empty() ? "" : "; ") + support.reason;
  }
  if (!reasons.empty()) return fail(ErrorKind::unsupported, fmt::format("{}: {}", path, reasons));
  return fail(ErrorKind::unsupported,
              fmt::format("the CUDA backend has no path '{}' for '{}'", path, call.op));
}

Support supports_call(const Path& path, const OpCall& call, const Program& program) {
  if (Support match = matches_precision(path.implementation, call, program); !match.legal()) return match;
  if (!path.support.legal()) return path.support;
  return path.fits(call, program);
}

Support needs_capability(const DeviceTraits& traits, int capability, std::string_view what) {
  if (!traits.no_image.empty()) return {Support::Kind::unsupported, traits.no_image};
  if (traits.capability() >= capability) return {};
  return {Support::Kind::unsupported,
          fmt::format("{} need compute capability {}.{}; this device has {}.{}", what, capability / 10,
                      capability % 10, traits.major, traits.minor)};
}

}  // namespace parity::cuda
