#include "harness/ladder/assignment.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace parity {

namespace {

bool applicable(const Implementation& implementation, const OpCall& call, const Program& program) {
  return matches_precision(implementation, call, program).kind != Support::Kind::not_applicable;
}

/// The first legal implementation of the call's op, or why there is none.
Result<const Implementation*> first_legal(const Device& device, const OpCall& call, const Program& program) {
  std::string reason;
  for (const Implementation& implementation : device.implementations()) {
    if (implementation.op != call.op) continue;
    const Support support = device.supports(implementation, call, program);
    if (support.legal()) return &implementation;
    // What a device forbids says more than a path made for another precision.
    if (reason.empty() || support.kind == Support::Kind::unsupported)
      reason = fmt::format("{}: {}", implementation.path, support.reason);
  }
  return fail(ErrorKind::unsupported,
              reason.empty() ? fmt::format("{} has no path for op '{}'", device.info().id, call.op)
                             : fmt::format("no path of {} takes this call of '{}': {}", device.info().id,
                                           call.op, reason));
}

}  // namespace

std::vector<std::string> Assignment::paths() const {
  std::vector<std::string> names;
  for (const Implementation* implementation : implementations) names.push_back(implementation->path);
  return names;
}

Result<Assignment> assign(const Device& device, const Program& program, const std::string& path) {
  Assignment assignment;
  bool taken = false;
  std::string refusal = fmt::format("{} has no path '{}' for op '{}'", device.info().id, path,
                                    program.calls.empty() ? "" : program.calls.front().op);
  for (const OpCall& call : program.calls) {
    const Implementation* chosen = nullptr;
    for (const Implementation& implementation : device.implementations()) {
      if (implementation.op != call.op || implementation.path != path) continue;
      const Support support = device.supports(implementation, call, program);
      if (support.kind == Support::Kind::unsupported) return fail(ErrorKind::unsupported, support.reason);
      if (support.legal()) {
        chosen = &implementation;
        break;
      }
      refusal = support.reason;
    }
    taken = taken || chosen != nullptr;
    if (chosen == nullptr) {
      const auto other = first_legal(device, call, program);
      if (!other)
        return tl::unexpected(program.calls.size() == 1 ? Error{ErrorKind::unsupported, refusal}
                                                        : other.error());
      chosen = *other;
    }
    assignment.implementations.push_back(chosen);
  }
  if (!taken && !program.calls.empty()) return fail(ErrorKind::unsupported, refusal);
  return assignment;
}

namespace {

/// Whether the device itself refuses `path` for some call that is in its precision.
bool refused(const Device& device, const Program& program, const std::string& path) {
  for (const OpCall& call : program.calls)
    for (const Implementation& implementation : device.implementations())
      if (implementation.op == call.op && implementation.path == path &&
          device.supports(implementation, call, program).kind == Support::Kind::unsupported)
        return true;
  return false;
}

}  // namespace

std::vector<std::string> assignable_paths(const Device& device, const Program& program) {
  std::vector<std::string> paths, hopeless;
  std::vector<Assignment> known;
  for (const Implementation& implementation : device.implementations()) {
    if (std::ranges::find(paths, implementation.path) != paths.end()) continue;
    if (std::ranges::none_of(program.calls, [&](const OpCall& call) {
          return implementation.op == call.op && applicable(implementation, call, program);
        }))
      continue;
    const auto assignment = assign(device, program, implementation.path);
    if (assignment) {
      if (std::ranges::find(known, *assignment) != known.end()) continue;
      known.push_back(*assignment);
    } else if (!refused(device, program, implementation.path)) {
      // Another call has no legal path at all, which the row of that call's own paths says.
      hopeless.push_back(implementation.path);
      continue;
    }
    paths.push_back(implementation.path);
  }
  if (paths.empty() && !hopeless.empty()) paths.push_back(hopeless.front());
  return paths;
}

}  // namespace parity
