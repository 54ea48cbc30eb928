#pragma once
#include "harness/ladder/program.hpp"

namespace parity {

/// Bytes of host memory that running and judging a Program takes at its peak, about: inputs and outputs with
/// their copies, and the fp64 arrays of the reference with its bounds. Never overflows, however large the
/// shapes.
double host_bytes_needed(const Program& program, int repeats);

/// Bytes of memory this process can still take: what the system, the control group and the address space
/// limit leave, plus what it has freed and keeps. Infinite where nothing tells.
double host_bytes_available();

}  // namespace parity
