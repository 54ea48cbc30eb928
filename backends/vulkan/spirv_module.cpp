#include "backends/vulkan/spirv_module.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace parity::vulkan {

namespace {

// Numbers of the SPIR-V specification, "Binary Form" and its extensions.
constexpr std::uint32_t magic = 0x07230203;
constexpr std::uint32_t version_1_4 = 0x00010400;
constexpr std::uint32_t op_extension = 10, op_entry_point = 15, op_execution_mode = 16, op_capability = 17,
                        op_type_float = 22;
constexpr std::uint32_t capability_float16 = 9, capability_denorm_preserve = 4464,
                        capability_signed_zero_inf_nan = 4466, capability_rte = 4467,
                        capability_bfloat16_type = 5116, capability_bfloat16_matrix = 5118;
constexpr std::uint32_t mode_denorm_preserve = 4459, mode_signed_zero_inf_nan = 4461, mode_rte = 4462;
constexpr std::uint32_t encoding_bfloat16 = 0;

std::uint32_t head(std::uint32_t opcode, std::size_t words) {
  return static_cast<std::uint32_t>(words << 16) | opcode;
}

void append_capability(std::vector<std::uint32_t>& out, std::uint32_t capability) {
  out.push_back(head(op_capability, 2));
  out.push_back(capability);
}

/// A text as SPIR-V writes it: four bytes a word, little end first, zero-terminated and padded.
void append_extension(std::vector<std::uint32_t>& out, std::string_view name) {
  const std::size_t words = name.size() / 4 + 1;
  out.push_back(head(op_extension, words + 1));
  for (std::size_t w = 0; w < words; ++w) {
    std::uint32_t word = 0;
    for (std::size_t b = 0; b < 4 && w * 4 + b < name.size(); ++b)
      word |= static_cast<std::uint32_t>(static_cast<unsigned char>(name[w * 4 + b])) << (8 * b);
    out.push_back(word);
  }
}

void append_modes(std::vector<std::uint32_t>& out, std::uint32_t entry, std::uint32_t mode,
                  std::uint8_t widths) {
  for (std::uint32_t bit = 0; bit < 3; ++bit) {
    if (!(widths >> bit & 1u)) continue;
    out.push_back(head(op_execution_mode, 4));
    out.insert(out.end(), {entry, mode, 16u << bit});
  }
}

/// Widths to declare a mode for, given where it is offered and how the driver ties widths together.
std::uint8_t tie(std::uint8_t offered, std::uint8_t wanted, VkShaderFloatControlsIndependence independence) {
  constexpr std::uint8_t all = FloatModes::width16 | FloatModes::width32 | FloatModes::width64;
  constexpr std::uint8_t others = FloatModes::width16 | FloatModes::width64;
  switch (independence) {
    case VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL:
      return offered & wanted;
    case VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY: {
      std::uint8_t modes = offered & wanted & FloatModes::width32;
      if ((wanted & FloatModes::width16) && (offered & others) == others) modes |= others;
      return modes;
    }
    default:
      return offered == all ? all : std::uint8_t{0};
  }
}

std::uint8_t widths(bool w16, bool w32, bool w64) {
  return static_cast<std::uint8_t>((w16 ? FloatModes::width16 : 0) | (w32 ? FloatModes::width32 : 0) |
                                   (w64 ? FloatModes::width64 : 0));
}

}  // namespace

FloatModes choose_float_modes(const Capabilities& c, bool uses_float16) {
  const std::uint8_t wanted = widths(uses_float16, true, false);
  FloatModes modes;
  modes.denorm_preserve =
      tie(widths(c.controls16.denorm_preserve, c.controls32.denorm_preserve, c.controls64.denorm_preserve),
          wanted, c.denorm_independence);
  modes.rte =
      tie(widths(c.controls16.rte, c.controls32.rte, c.controls64.rte), wanted, c.rounding_independence);
  modes.signed_zero_inf_nan = static_cast<std::uint8_t>(
      wanted & widths(c.controls16.signed_zero_inf_nan, c.controls32.signed_zero_inf_nan, false));
  return modes;
}

Result<std::vector<std::uint32_t>> make_variant(std::span<const std::uint32_t> words, const FloatModes& modes,
                                                bool bfloat16) {
  if (words.size() < 5 || words[0] != magic || words[1] < version_1_4)
    return fail(ErrorKind::internal, "embedded shader: not a SPIR-V module of version 1.4 or later");
  std::vector<std::uint32_t> out(words.begin(), words.begin() + 5);
  out.reserve(words.size() + 64);
  bool extensions_done = false, modes_done = false;
  std::optional<std::uint32_t> entry;
  int float16_types = 0;

  for (std::size_t i = 5; i < words.size();) {
    const std::uint32_t opcode = words[i] & 0xffffu;
    const std::size_t length = words[i] >> 16;
    if (length == 0 || length > words.size() - i)
      return fail(ErrorKind::internal, fmt::format("embedded shader: broken instruction at word {}", i));
    const std::span<const std::uint32_t> instruction = words.subspan(i, length);
    i += length;

    // Capabilities come first, then extensions: ours go where the first other instruction stands.
    if (!extensions_done && opcode != op_capability) {
      if (modes.denorm_preserve) append_capability(out, capability_denorm_preserve);
      if (modes.rte) append_capability(out, capability_rte);
      if (modes.signed_zero_inf_nan) append_capability(out, capability_signed_zero_inf_nan);
      if (bfloat16) {
        append_capability(out, capability_bfloat16_type);
        append_capability(out, capability_bfloat16_matrix);
        append_extension(out, "SPV_KHR_bfloat16");
      }
      extensions_done = true;
    }
    if (opcode == op_capability && bfloat16 && instruction[1] == capability_float16) continue;
    if (opcode == op_entry_point && length > 2) entry = instruction[2];
    // Execution modes follow the entry points; ours go in front of the first.
    if (!modes_done && opcode == op_execution_mode) {
      if (!entry) return fail(ErrorKind::internal, "embedded shader: an execution mode without entry point");
      append_modes(out, *entry, mode_denorm_preserve, modes.denorm_preserve);
      append_modes(out, *entry, mode_rte, modes.rte);
      append_modes(out, *entry, mode_signed_zero_inf_nan, modes.signed_zero_inf_nan);
      modes_done = true;
    }
    if (opcode == op_type_float && bfloat16 && length >= 3 && instruction[2] == 16) {
      out.push_back(head(op_type_float, 4));
      out.insert(out.end(), {instruction[1], 16u, encoding_bfloat16});
      ++float16_types;
      continue;
    }
    out.insert(out.end(), instruction.begin(), instruction.end());
  }
  if (!modes_done)
    return fail(ErrorKind::internal, "embedded shader: no execution mode, so no compute shader");
  if (bfloat16 && float16_types != 1)
    return fail(
        ErrorKind::internal,
        fmt::format("embedded shader: {} 16-bit floating types, one is needed for bfloat16", float16_types));
  return out;
}

}  // namespace parity::vulkan
