#include "backends/vulkan/logical_device.hpp"

#include <fmt/format.h>

namespace parity::vulkan {

namespace {
constexpr VkDeviceSize staging_bytes = VkDeviceSize{16} << 20;
}

Result<std::shared_ptr<LogicalDevice>> LogicalDevice::create(std::shared_ptr<Instance> instance,
                                                             VkPhysicalDevice physical, const Capabilities& c,
                                                             double timeout_seconds, ShaderSource shaders) {
  std::shared_ptr<LogicalDevice> self(new LogicalDevice);
  self->instance_ = std::move(instance);
  self->capabilities_ = c;
  self->timeout_seconds_ = timeout_seconds;
  self->shaders_ = std::move(shaders);

  // Features found are switched on; what a structure does not list stays off.
  std::vector<const char*> extensions;
  VkPhysicalDeviceVulkan11Features v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v11.storageBuffer16BitAccess = c.storage16;
  VkPhysicalDeviceVulkan12Features v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v12.pNext = &v11;
  v12.shaderFloat16 = c.float16;
  v12.shaderInt8 = c.int8;
  v12.vulkanMemoryModel = c.memory_model;
  v12.vulkanMemoryModelDeviceScope = c.memory_model_device_scope;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &v12;
  features.features.shaderFloat64 = c.float64;
  features.features.shaderInt16 = c.int16;
  VkPhysicalDeviceSubgroupSizeControlFeatures sizes{};
  sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  if (c.subgroup_control) {
    sizes.subgroupSizeControl = VK_TRUE;
    sizes.computeFullSubgroups = c.full_subgroups;
    sizes.pNext = features.pNext;
    features.pNext = &sizes;
  }
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{};
  matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  if (c.matrix_feature) {
    extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    matrix.cooperativeMatrix = VK_TRUE;
    matrix.pNext = features.pNext;
    features.pNext = &matrix;
  }
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};
  bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  if (c.bfloat16_type) {
    extensions.push_back(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
    bfloat16.shaderBFloat16Type = VK_TRUE;
    bfloat16.shaderBFloat16CooperativeMatrix = c.bfloat16_matrix;
    bfloat16.pNext = features.pNext;
    features.pNext = &bfloat16;
  }
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics{};
  atomics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  if (c.atomic_add_f32) {
    extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
    atomics.shaderBufferFloat32Atomics = VK_TRUE;
    atomics.shaderBufferFloat32AtomicAdd = VK_TRUE;
    atomics.pNext = features.pNext;
    features.pNext = &atomics;
  }
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = c.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkResult result = self->instance_->functions().vkCreateDevice(physical, &info, nullptr, &self->device_);
  if (result != VK_SUCCESS) {
    self->device_ = VK_NULL_HANDLE;
    return vulkan_error("vkCreateDevice", result);
  }
  auto functions = load_device_functions(self->instance_->functions(), self->device_);
  if (!functions) return tl::unexpected(functions.error());
  self->vk_ = *functions;
  self->vk_.vkGetDeviceQueue(self->device_, c.queue_family, 0, &self->queue_);

  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = c.queue_family;
  result = self->vk_.vkCreateCommandPool(self->device_, &pool, nullptr, &self->pool_);
  if (result != VK_SUCCESS) return vulkan_error("vkCreateCommandPool", result);
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  result = self->vk_.vkCreateFence(self->device_, &fence, nullptr, &self->fence_);
  if (result != VK_SUCCESS) return vulkan_error("vkCreateFence", result);
  if (auto ok = self->memory_.open(*self->instance_, physical, self->device_); !ok)
    return tl::unexpected(ok.error());
  auto staging = self->memory_.staging_buffer(staging_bytes);
  if (!staging) return tl::unexpected(staging.error());
  self->staging_ = std::move(*staging);
  return self;
}

LogicalDevice::~LogicalDevice() {
  if (!device_ || !vk_.vkDestroyDevice) return;
  for (auto& [request, pipeline] : pipelines_) vk_.vkDestroyPipeline(device_, pipeline.pipeline, nullptr);
  for (const Layout& l : layouts_) {
    vk_.vkDestroyPipelineLayout(device_, l.pipeline, nullptr);
    vk_.vkDestroyDescriptorSetLayout(device_, l.set, nullptr);
  }
  staging_ = Buffer();
  memory_.close();
  if (fence_) vk_.vkDestroyFence(device_, fence_, nullptr);
  if (pool_) vk_.vkDestroyCommandPool(device_, pool_, nullptr);
  vk_.vkDestroyDevice(device_, nullptr);
}

Result<VkCommandBuffer> LogicalDevice::allocate_commands() {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  const VkResult result = vk_.vkAllocateCommandBuffers(device_, &info, &commands);
  if (result != VK_SUCCESS) return vulkan_error("vkAllocateCommandBuffers", result);
  return commands;
}

void LogicalDevice::free_commands(VkCommandBuffer commands) {
  vk_.vkFreeCommandBuffers(device_, pool_, 1, &commands);
}

Result<void> LogicalDevice::submit(VkCommandBuffer commands) {
  if (dead()) return fail(ErrorKind::device_failed, "the device failed earlier and is not used any more");
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  VkResult result = vk_.vkResetFences(device_, 1, &fence_);
  if (result == VK_SUCCESS) result = vk_.vkQueueSubmit(queue_, 1, &info, fence_);
  if (result != VK_SUCCESS) {
    lost_ = result == VK_ERROR_DEVICE_LOST;
    return vulkan_error("vkQueueSubmit", result);
  }
  const auto nanoseconds = static_cast<std::uint64_t>(timeout_seconds_ * 1e9);
  result = vk_.vkWaitForFences(device_, 1, &fence_, VK_TRUE, nanoseconds);
  if (result == VK_TIMEOUT) {
    hung_ = true;
    return fail(ErrorKind::timed_out,
                fmt::format("{}: the run did not finish within {} s", capabilities_.name, timeout_seconds_));
  }
  if (result != VK_SUCCESS) {
    lost_ = true;
    return vulkan_error("vkWaitForFences", result);
  }
  return {};
}

Result<void> LogicalDevice::run_once(const std::function<void(VkCommandBuffer)>& record) {
  auto commands = allocate_commands();
  if (!commands) return tl::unexpected(commands.error());
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  VkResult result = vk_.vkBeginCommandBuffer(*commands, &begin);
  if (result == VK_SUCCESS) {
    record(*commands);
    result = vk_.vkEndCommandBuffer(*commands);
  }
  Result<void> done = result == VK_SUCCESS ? submit(*commands) : vulkan_error("vkEndCommandBuffer", result);
  if (!hung_) free_commands(*commands);
  return done;
}

void memory_barrier(const DeviceFunctions& vk, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags used) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = written;
  barrier.dstAccessMask = used;
  vk.vkCmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace parity::vulkan
