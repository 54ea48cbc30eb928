#pragma once
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"

namespace parity {

/// The implementation each call of a program runs with.
struct Assignment {
  std::vector<const Implementation*> implementations;
  std::vector<std::string> paths() const;
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

/// `path` for every call whose op has it in the call's precision; it must be legal there. The other calls
/// take their op's first path that is legal: a program of many ops is named by the path that varies, and its
/// record names each call's own. Errors of kind unsupported: no call takes the path (with the reason), or a
/// call has no legal path.
Result<Assignment> assign(const Device& device, const Program& program, const std::string& path);

/// The paths worth running a program with: every path that some call takes, legal here or not; of paths that
/// come to the same assignment the first.
std::vector<std::string> assignable_paths(const Device& device, const Program& program);

}  // namespace parity
