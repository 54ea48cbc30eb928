#include "backends/vulkan/capabilities.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace parity::vulkan {

namespace {

std::vector<VkExtensionProperties> extensions_of(const Instance& instance, VkPhysicalDevice device) {
  std::uint32_t count = 0;
  const auto& vk = instance.functions();
  vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  extensions.resize(count);
  return extensions;
}

bool has(const std::vector<VkExtensionProperties>& extensions, const char* name) {
  for (const VkExtensionProperties& extension : extensions)
    if (std::strcmp(extension.extensionName, name) == 0) return true;
  return false;
}

/// Appends a structure to a pNext chain.
template <class T>
void chain(void**& tail, T& structure) {
  *tail = &structure;
  tail = &structure.pNext;
}

void query_properties(const Instance& instance, VkPhysicalDevice device, bool subgroup_control,
                      Capabilities& c) {
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceFloatControlsProperties floats{};
  floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
  VkPhysicalDeviceSubgroupProperties subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  VkPhysicalDeviceMaintenance3Properties maintenance{};
  maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
  sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  void** tail = &properties.pNext;
  chain(tail, driver);
  chain(tail, floats);
  chain(tail, subgroup);
  chain(tail, maintenance);
  if (subgroup_control) chain(tail, sizes);
  instance.functions().vkGetPhysicalDeviceProperties2(device, &properties);

  const VkPhysicalDeviceProperties& p = properties.properties;
  c.name = p.deviceName;
  c.driver_name = driver.driverName;
  c.driver_info = driver.driverInfo;
  c.driver = driver.driverID;
  c.api_version = p.apiVersion;
  c.driver_version = p.driverVersion;
  c.vendor = p.vendorID;
  c.device = p.deviceID;
  c.type = p.deviceType;
  c.max_storage_range = p.limits.maxStorageBufferRange;
  c.max_allocation = maintenance.maxMemoryAllocationSize;
  c.shared_bytes = p.limits.maxComputeSharedMemorySize;
  c.invocations = p.limits.maxComputeWorkGroupInvocations;
  c.storage_buffers =
      std::min(p.limits.maxPerStageDescriptorStorageBuffers, p.limits.maxDescriptorSetStorageBuffers);
  c.push_constant_bytes = p.limits.maxPushConstantsSize;
  for (int i = 0; i < 3; ++i) {
    c.group_count[i] = p.limits.maxComputeWorkGroupCount[i];
    c.group_size[i] = p.limits.maxComputeWorkGroupSize[i];
  }
  c.storage_alignment = p.limits.minStorageBufferOffsetAlignment;
  c.timestamp_period_ns = static_cast<double>(p.limits.timestampPeriod);
  c.subgroup = subgroup.subgroupSize;
  c.subgroup_basic = (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_BASIC_BIT) != 0 &&
                     (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  c.subgroup_min = subgroup_control ? sizes.minSubgroupSize : subgroup.subgroupSize;
  c.subgroup_max = subgroup_control ? sizes.maxSubgroupSize : subgroup.subgroupSize;
  c.subgroup_control =
      subgroup_control && (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;

  c.controls16 = {floats.shaderDenormPreserveFloat16 != 0, floats.shaderDenormFlushToZeroFloat16 != 0,
                  floats.shaderRoundingModeRTEFloat16 != 0, floats.shaderRoundingModeRTZFloat16 != 0,
                  floats.shaderSignedZeroInfNanPreserveFloat16 != 0};
  c.controls32 = {floats.shaderDenormPreserveFloat32 != 0, floats.shaderDenormFlushToZeroFloat32 != 0,
                  floats.shaderRoundingModeRTEFloat32 != 0, floats.shaderRoundingModeRTZFloat32 != 0,
                  floats.shaderSignedZeroInfNanPreserveFloat32 != 0};
  c.controls64 = {floats.shaderDenormPreserveFloat64 != 0, floats.shaderDenormFlushToZeroFloat64 != 0,
                  floats.shaderRoundingModeRTEFloat64 != 0, floats.shaderRoundingModeRTZFloat64 != 0,
                  floats.shaderSignedZeroInfNanPreserveFloat64 != 0};
  c.denorm_independence = floats.denormBehaviorIndependence;
  c.rounding_independence = floats.roundingModeIndependence;
}

void query_features(const Instance& instance, VkPhysicalDevice device,
                    const std::vector<VkExtensionProperties>& extensions, bool subgroup_control,
                    Capabilities& c) {
  VkPhysicalDeviceVulkan11Features v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  VkPhysicalDeviceVulkan12Features v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  VkPhysicalDeviceSubgroupSizeControlFeatures sizes{};
  sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{};
  matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};
  bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics{};
  atomics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  void** tail = &features.pNext;
  chain(tail, v11);
  chain(tail, v12);
  c.matrix_extension = has(extensions, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  if (subgroup_control) chain(tail, sizes);
  if (c.matrix_extension) chain(tail, matrix);
  if (has(extensions, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME)) chain(tail, bfloat16);
  if (has(extensions, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) chain(tail, atomics);
  instance.functions().vkGetPhysicalDeviceFeatures2(device, &features);

  c.float16 = v12.shaderFloat16 != 0;
  c.int8 = v12.shaderInt8 != 0;
  c.int16 = features.features.shaderInt16 != 0;
  c.float64 = features.features.shaderFloat64 != 0;
  c.storage16 = v11.storageBuffer16BitAccess != 0;
  c.memory_model = v12.vulkanMemoryModel != 0;
  c.memory_model_device_scope = v12.vulkanMemoryModelDeviceScope != 0;
  c.subgroup_control = c.subgroup_control && sizes.subgroupSizeControl != 0;
  c.full_subgroups = sizes.computeFullSubgroups != 0;
  c.matrix_feature = matrix.cooperativeMatrix != 0;
  c.atomic_add_f32 = atomics.shaderBufferFloat32Atomics != 0 && atomics.shaderBufferFloat32AtomicAdd != 0;
  c.bfloat16_type = bfloat16.shaderBFloat16Type != 0;
  c.bfloat16_matrix = bfloat16.shaderBFloat16CooperativeMatrix != 0;
}

Result<void> query_shapes(const Instance& instance, VkPhysicalDevice device, Capabilities& c) {
  if (!c.matrix_extension || !c.matrix_feature) return {};
  const auto query = instance.functions().vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  if (!query) return {};
  std::uint32_t count = 0;
  VkResult result = query(device, &count, nullptr);
  std::vector<VkCooperativeMatrixPropertiesKHR> properties(count);
  for (auto& p : properties) {
    p = {};
    p.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  }
  if (result == VK_SUCCESS) result = query(device, &count, properties.data());
  if (result != VK_SUCCESS) return vulkan_error("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", result);
  for (const auto& p : properties)
    c.shapes.push_back({p.MSize, p.NSize, p.KSize, p.AType, p.BType, p.CType, p.ResultType,
                        p.saturatingAccumulation != 0, p.scope});
  return {};
}

}  // namespace

Result<Capabilities> query_capabilities(const Instance& instance, VkPhysicalDevice device) {
  const auto& vk = instance.functions();
  Capabilities c;
  VkPhysicalDeviceProperties basic{};
  vk.vkGetPhysicalDeviceProperties(device, &basic);
  c.name = basic.deviceName;
  c.api_version = basic.apiVersion;
  if (basic.apiVersion < VK_API_VERSION_1_2) return c;  // listed, but nothing is legal on it

  const std::vector<VkExtensionProperties> extensions = extensions_of(instance, device);
  const bool subgroup_control = basic.apiVersion >= VK_API_VERSION_1_3;
  query_properties(instance, device, subgroup_control, c);
  query_features(instance, device, extensions, subgroup_control, c);
  if (auto ok = query_shapes(instance, device, c); !ok) return tl::unexpected(ok.error());

  std::uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (std::uint32_t i = 0; i < count && !c.compute_queue; ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    c.compute_queue = true;
    c.queue_family = i;
    c.timestamp_bits = families[i].timestampValidBits;
  }
  VkPhysicalDeviceMemoryProperties memory{};
  vk.vkGetPhysicalDeviceMemoryProperties(device, &memory);
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      c.device_memory += memory.memoryHeaps[i].size;
  return c;
}

std::optional<CooperativeShape> choose_shape(const Capabilities& capabilities, VkComponentTypeKHR factor,
                                             VkComponentTypeKHR accumulator) {
  std::optional<CooperativeShape> best;
  const auto rank = [](const CooperativeShape& s) {
    return s.m == 16 && s.n == 16 && s.k == 16 ? ~std::uint64_t{0} : std::uint64_t{s.m} * s.n * s.k;
  };
  for (const CooperativeShape& s : capabilities.shapes) {
    if (s.scope != VK_SCOPE_SUBGROUP_KHR || s.saturating) continue;
    if (s.a != factor || s.b != factor || s.c != accumulator || s.result != accumulator) continue;
    if (s.m % 8 != 0 || s.n % 8 != 0 || s.k % 8 != 0) continue;  // tiles are moved in vectors of eight
    if (!best || rank(s) > rank(*best)) best = s;
  }
  return best;
}

}  // namespace parity::vulkan
