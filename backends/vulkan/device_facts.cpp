// What a device says of itself, in words.
#include <fmt/format.h>

#include "backends/vulkan/capabilities.hpp"
#include "backends/vulkan/spirv_module.hpp"

namespace parity::vulkan {

namespace {

const char* name_of_component(VkComponentTypeKHR type) {
  if (type == VK_COMPONENT_TYPE_BFLOAT16_KHR) return "bf16";
  switch (type) {
    case VK_COMPONENT_TYPE_FLOAT16_KHR:
      return "f16";
    case VK_COMPONENT_TYPE_FLOAT32_KHR:
      return "f32";
    case VK_COMPONENT_TYPE_FLOAT64_KHR:
      return "f64";
    case VK_COMPONENT_TYPE_SINT8_KHR:
      return "s8";
    case VK_COMPONENT_TYPE_SINT16_KHR:
      return "s16";
    case VK_COMPONENT_TYPE_SINT32_KHR:
      return "s32";
    case VK_COMPONENT_TYPE_SINT64_KHR:
      return "s64";
    case VK_COMPONENT_TYPE_UINT8_KHR:
      return "u8";
    case VK_COMPONENT_TYPE_UINT16_KHR:
      return "u16";
    case VK_COMPONENT_TYPE_UINT32_KHR:
      return "u32";
    case VK_COMPONENT_TYPE_UINT64_KHR:
      return "u64";
    default:
      return nullptr;
  }
}

std::string component(VkComponentTypeKHR type) {
  const char* name = name_of_component(type);
  return name ? name : fmt::format("type{}", static_cast<int>(type));
}

const char* scope_name(VkScopeKHR scope) {
  switch (scope) {
    case VK_SCOPE_DEVICE_KHR:
      return "device";
    case VK_SCOPE_WORKGROUP_KHR:
      return "workgroup";
    case VK_SCOPE_SUBGROUP_KHR:
      return "subgroup";
    case VK_SCOPE_QUEUE_FAMILY_KHR:
      return "queue family";
    default:
      return "unknown scope";
  }
}

const char* type_name(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "CPU";
    default:
      return "other";
  }
}

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

std::string controls(const FloatControls& c) {
  std::string text;
  const auto add = [&](bool offered, const char* name) {
    if (offered) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(c.denorm_preserve, "denormals preserved");
  add(c.denorm_flush, "denormals flushed");
  add(c.rte, "round to nearest even");
  add(c.rtz, "round toward zero");
  add(c.signed_zero_inf_nan, "signed zero, Inf and NaN preserved");
  return text.empty() ? "none" : text;
}

/// What the kernels declare of one width, in the words of controls().
std::string modes(const FloatModes& m, std::uint8_t width) {
  FloatControls declared;
  declared.denorm_preserve = (m.denorm_preserve & width) != 0;
  declared.rte = (m.rte & width) != 0;
  declared.signed_zero_inf_nan = (m.signed_zero_inf_nan & width) != 0;
  return controls(declared);
}

std::string independence(VkShaderFloatControlsIndependence value) {
  switch (value) {
    case VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL:
      return "all widths";
    case VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY:
      return "32 bit only";
    default:
      return "none";
  }
}

}  // namespace

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

std::string to_string(const CooperativeShape& s) {
  return fmt::format("{}x{}x{} {} {} {} {} {}{}", s.m, s.n, s.k, component(s.a), component(s.b),
                     component(s.c), component(s.result), scope_name(s.scope),
                     s.saturating ? " saturating" : "");
}

DeviceInfo describe(const Capabilities& c, std::size_t index) {
  DeviceInfo info;
  info.id = fmt::format("vulkan:{}", index);
  info.backend = "vulkan";
  info.name = c.name;
  info.driver = c.driver_info.empty() ? c.driver_name : fmt::format("{} {}", c.driver_name, c.driver_info);
  info.api = "Vulkan " + version_text(c.api_version);
  const auto add = [&](const char* group, std::string name, std::string value) {
    info.facts.push_back({group, std::move(name), std::move(value)});
  };
  add("driver", "driver_id", fmt::format("{}", static_cast<int>(c.driver)));
  add("driver", "driver_name", c.driver_name);
  add("driver", "driver_info", c.driver_info);
  add("driver", "driver_version", fmt::format("0x{:x}", c.driver_version));
  add("driver", "vendor_device", fmt::format("0x{:04x}:0x{:04x}", c.vendor, c.device));
  add("driver", "device_type", type_name(c.type));

  add("limits", "max_storage_buffer_range", fmt::format("{}", c.max_storage_range));
  add("limits", "max_memory_allocation", fmt::format("{}", c.max_allocation));
  add("limits", "device_local_memory", fmt::format("{}", c.device_memory));
  add("limits", "shared_memory", fmt::format("{}", c.shared_bytes));
  add("limits", "workgroup_invocations", fmt::format("{}", c.invocations));
  add("limits", "workgroup_count",
      fmt::format("{}x{}x{}", c.group_count[0], c.group_count[1], c.group_count[2]));
  add("limits", "storage_buffers", fmt::format("{}", c.storage_buffers));
  add("limits", "push_constants", fmt::format("{}", c.push_constant_bytes));
  add("limits", "storage_offset_alignment", fmt::format("{}", c.storage_alignment));
  add("limits", "timestamps",
      c.timestamp_bits ? fmt::format("{} bits, {} ns", c.timestamp_bits, c.timestamp_period_ns) : "no");

  add("numerics", "shader_float16", yes_no(c.float16));
  add("numerics", "storage_16bit", yes_no(c.storage16));
  add("numerics", "shader_float64", yes_no(c.float64));
  add("numerics", "shader_int8", yes_no(c.int8));
  add("numerics", "shader_int16", yes_no(c.int16));
  add("numerics", "shader_bfloat16", yes_no(c.bfloat16_type));
  add("numerics", "atomic_add_f32", yes_no(c.atomic_add_f32));
  add("numerics", "bfloat16_matrix", yes_no(c.bfloat16_matrix));
  add("numerics", "float_controls_16", controls(c.controls16));
  add("numerics", "float_controls_32", controls(c.controls32));
  add("numerics", "float_controls_64", controls(c.controls64));
  const FloatModes single = choose_float_modes(c, false), half = choose_float_modes(c, true);
  add("numerics", "declared_modes_16", modes(half, FloatModes::width16));
  add("numerics", "declared_modes_32", modes(single, FloatModes::width32));
  add("numerics", "denormal_independence", independence(c.denorm_independence));
  add("numerics", "rounding_independence", independence(c.rounding_independence));
  add("numerics", "subgroup_size",
      c.subgroup_min == c.subgroup_max
          ? fmt::format("{}", c.subgroup)
          : fmt::format("{} ({} to {}{})", c.subgroup, c.subgroup_min, c.subgroup_max,
                        c.subgroup_control ? ", can be required" : ""));
  add("numerics", "vulkan_memory_model", yes_no(c.memory_model));

  add("cooperative matrices", "VK_KHR_cooperative_matrix", yes_no(c.matrix_feature));
  for (std::size_t i = 0; i < c.shapes.size(); ++i)
    add("cooperative matrices", fmt::format("configuration_{}", i), to_string(c.shapes[i]));
  return info;
}

}  // namespace parity::vulkan
