#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backends/vulkan/capabilities.hpp"
#include "harness/base/result.hpp"

namespace parity::vulkan {

/// Float-control execution modes to declare, one bit a width: 16, 32 and 64 are bits 0, 1 and 2.
struct FloatModes {
  std::uint8_t denorm_preserve = 0, rte = 0, signed_zero_inf_nan = 0;
  static constexpr std::uint8_t width16 = 1, width32 = 2, width64 = 4;
  friend bool operator==(const FloatModes&, const FloatModes&) = default;
};

/// The strictest modes that the device can keep for a module computing in fp32, and in fp16 when
/// `uses_float16`: where the driver ties the widths together, a mode is declared for all of them or for none.
FloatModes choose_float_modes(const Capabilities& capabilities, bool uses_float16);

/// A variant of a compute module of SPIR-V 1.4 or later, made when it is loaded:
/// - the execution modes of `modes` (core since 1.4) with their capabilities;
/// - `bfloat16`: its only 16-bit floating type gets the encoding BFloat16KHR (SPV_KHR_bfloat16), and the
///   capabilities follow. Older shader compilers cannot write that type; the module must use it for nothing
///   but cooperative matrices.
/// Error when the words are no such module.
Result<std::vector<std::uint32_t>> make_variant(std::span<const std::uint32_t> words, const FloatModes& modes,
                                                bool bfloat16);

}  // namespace parity::vulkan
