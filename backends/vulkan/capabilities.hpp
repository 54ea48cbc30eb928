#pragma once
#include <string>
#include <vector>

#include "backends/vulkan/instance.hpp"
#include "harness/ladder/backend.hpp"

// Names newer than the headers of Ubuntu 24.04 and Debian 13.
#ifndef VK_KHR_shader_bfloat16
#define VK_KHR_shader_bfloat16 1
#define VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME "VK_KHR_shader_bfloat16"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR \
  static_cast<VkStructureType>(1000141000)
#define VK_COMPONENT_TYPE_BFLOAT16_KHR static_cast<VkComponentTypeKHR>(1000141000)
typedef struct VkPhysicalDeviceShaderBfloat16FeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderBFloat16Type;
  VkBool32 shaderBFloat16DotProduct;
  VkBool32 shaderBFloat16CooperativeMatrix;
} VkPhysicalDeviceShaderBfloat16FeaturesKHR;
#endif

namespace parity::vulkan {

/// A cooperative-matrix configuration: A (m x k), B (k x n), C and result (m x n).
struct CooperativeShape {
  std::uint32_t m = 0, n = 0, k = 0;
  VkComponentTypeKHR a{}, b{}, c{}, result{};
  bool saturating = false;
  VkScopeKHR scope{};
};
/// "1.3.290".
std::string version_text(std::uint32_t version);
/// "16x16x16 f16 f16 f32 f32 subgroup".
std::string to_string(const CooperativeShape& shape);

/// Float controls of one width, as the driver offers them.
struct FloatControls {
  bool denorm_preserve = false, denorm_flush = false, rte = false, rtz = false, signed_zero_inf_nan = false;
};

/// What is known of a physical device: plain data, so that choices made from it can be tested without one.
struct Capabilities {
  std::string name, driver_name, driver_info;
  VkDriverId driver{};
  std::uint32_t api_version = 0, driver_version = 0, vendor = 0, device = 0;
  VkPhysicalDeviceType type{};
  // limits
  std::uint64_t max_storage_range = 0, max_allocation = 0, device_memory = 0;
  std::uint32_t shared_bytes = 0, invocations = 0, push_constant_bytes = 0;
  std::uint32_t storage_buffers = 0;  ///< that one shader can have bound
  std::uint32_t group_count[3] = {}, group_size[3] = {};
  std::uint64_t storage_alignment = 0;
  double timestamp_period_ns = 0;
  std::uint32_t timestamp_bits = 0, queue_family = 0;
  bool compute_queue = false;
  // numerics
  bool float16 = false, float64 = false, int8 = false, int16 = false, storage16 = false;
  bool bfloat16_type = false, bfloat16_matrix = false;
  bool atomic_add_f32 = false;  ///< on storage buffers
  FloatControls controls16, controls32, controls64;
  VkShaderFloatControlsIndependence denorm_independence{}, rounding_independence{};
  // subgroups
  std::uint32_t subgroup = 0, subgroup_min = 0, subgroup_max = 0;
  bool subgroup_basic = false, subgroup_control = false, full_subgroups = false;
  bool memory_model = false, memory_model_device_scope = false;
  // cooperative matrices
  bool matrix_extension = false, matrix_feature = false;
  std::vector<CooperativeShape> shapes;
};

Result<Capabilities> query_capabilities(const Instance& instance, VkPhysicalDevice device);

/// The best subgroup-scope shape with these component types (A = B, C = result): 16x16x16 if offered, else
/// the one with the most multiplications whose sizes are multiples of eight.
std::optional<CooperativeShape> choose_shape(const Capabilities& capabilities, VkComponentTypeKHR factor,
                                             VkComponentTypeKHR accumulator);

/// Device facts as `parity devices` and the records show them.
DeviceInfo describe(const Capabilities& capabilities, std::size_t index);

}  // namespace parity::vulkan
