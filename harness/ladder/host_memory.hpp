#pragma once
#include <filesystem>

#include "harness/ladder/program.hpp"

namespace parity {

/// Bytes of host memory that running and judging a Program takes at its peak, about: inputs and outputs with
/// their copies, and the fp64 arrays of the reference with its bounds. Never overflows, however large the
/// shapes.
double host_bytes_needed(const Program& program, int repeats);

/// Bytes of memory this process can still take: what the system, the control groups (both versions) and the
/// limits on its address space and its data leave, plus what it has freed and keeps. Infinite where nothing
/// tells.
double host_bytes_available();

/// What the control groups listed in `groups` (as /proc/self/cgroup) and mounted under `root` leave of
/// memory; infinite where none sets a limit. The page cache counts as free: it gives way.
double control_groups_leave(const std::filesystem::path& groups, const std::filesystem::path& root);

}  // namespace parity
