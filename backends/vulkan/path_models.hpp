#pragma once
#include <vector>

#include "backends/vulkan/capabilities.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::vulkan {

/// The arithmetic common to all fp32 kernels of this backend: what Vulkan promises of functions and division,
/// denormals as the device can be asked to keep them, stores to nearest even. The order is left open.
ArithmeticModel base_model(const Capabilities& capabilities, DType input);

/// Appends a replay of every accumulation with every denormal mode the device may have, the likelier first.
void add_replays(const Capabilities& capabilities, const std::vector<Accumulation>& accumulations,
                 Implementation& implementation);

/// A reduction by fma in a known order. fma() in SPIR-V may be one rounding or two, as the driver likes: the
/// contract is the wider of the two, both are replays.
void set_order(const Capabilities& capabilities, const SummationOrder& order, Implementation& implementation);

/// Products of integers: exact in any order.
void set_integer(Implementation& implementation);

}  // namespace parity::vulkan
