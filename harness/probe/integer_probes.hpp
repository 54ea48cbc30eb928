#pragma once
#include "harness/probe/probe.hpp"

namespace parity {

/// What a path that sums integers shows: that its sums are right whatever their size, and wrap around modulo
/// 2^32 where they leave int32. Then its order cannot be seen, and need not be. A sum that stops at the ends
/// of int32 (saturates), factors read as unsigned, or anything else is a contradiction. At most 16 x 16 sums
/// of `size`, as long as it takes to leave int32.
Result<ReductionFinding> probe_integers(Device& device, const Implementation& implementation,
                                        const ProbeSize& size, std::uint64_t seed);

}  // namespace parity
