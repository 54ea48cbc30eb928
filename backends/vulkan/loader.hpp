#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <memory>
#include <string>

#include "harness/base/result.hpp"

namespace parity::vulkan {

// The entry points the backend calls. A list in a macro is the one place a function cannot serve: each name
// is needed as a member, as its type and as a text.
#define PARITY_VK_INSTANCE_FUNCTIONS(F)       \
  F(vkDestroyInstance)                        \
  F(vkEnumeratePhysicalDevices)               \
  F(vkGetPhysicalDeviceProperties)            \
  F(vkGetPhysicalDeviceProperties2)           \
  F(vkGetPhysicalDeviceFeatures2)             \
  F(vkGetPhysicalDeviceMemoryProperties)      \
  F(vkGetPhysicalDeviceQueueFamilyProperties) \
  F(vkEnumerateDeviceExtensionProperties)     \
  F(vkCreateDevice)                           \
  F(vkGetDeviceProcAddr)

#define PARITY_VK_DEVICE_FUNCTIONS(F) \
  F(vkDestroyDevice)                  \
  F(vkGetDeviceQueue)                 \
  F(vkDeviceWaitIdle)                 \
  F(vkCreateCommandPool)              \
  F(vkDestroyCommandPool)             \
  F(vkAllocateCommandBuffers)         \
  F(vkFreeCommandBuffers)             \
  F(vkBeginCommandBuffer)             \
  F(vkEndCommandBuffer)               \
  F(vkQueueSubmit)                    \
  F(vkCreateFence)                    \
  F(vkDestroyFence)                   \
  F(vkResetFences)                    \
  F(vkWaitForFences)                  \
  F(vkCreateQueryPool)                \
  F(vkDestroyQueryPool)               \
  F(vkGetQueryPoolResults)            \
  F(vkCmdResetQueryPool)              \
  F(vkCmdWriteTimestamp)              \
  F(vkCmdPipelineBarrier)             \
  F(vkCmdCopyBuffer)                  \
  F(vkCmdFillBuffer)                  \
  F(vkCmdBindPipeline)                \
  F(vkCmdBindDescriptorSets)          \
  F(vkCmdPushConstants)               \
  F(vkCmdDispatch)                    \
  F(vkCreateShaderModule)             \
  F(vkDestroyShaderModule)            \
  F(vkCreateComputePipelines)         \
  F(vkDestroyPipeline)                \
  F(vkCreatePipelineLayout)           \
  F(vkDestroyPipelineLayout)          \
  F(vkCreateDescriptorSetLayout)      \
  F(vkDestroyDescriptorSetLayout)     \
  F(vkCreateDescriptorPool)           \
  F(vkDestroyDescriptorPool)          \
  F(vkAllocateDescriptorSets)         \
  F(vkUpdateDescriptorSets)

#define PARITY_VK_MEMBER(name) PFN_##name name = nullptr;

/// The system's Vulkan loader, opened at run time: a machine without Vulkan can still load the module and say
/// so.
struct Loader {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  PFN_vkCreateInstance vkCreateInstance = nullptr;
  PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion = nullptr;
  PFN_vkEnumerateInstanceExtensionProperties vkEnumerateInstanceExtensionProperties = nullptr;
  PFN_vkEnumerateInstanceLayerProperties vkEnumerateInstanceLayerProperties = nullptr;
  std::shared_ptr<void> library;
};
/// Opens libvulkan.so.1; the error says what to install.
Result<Loader> open_loader();

struct InstanceFunctions {
  PARITY_VK_INSTANCE_FUNCTIONS(PARITY_VK_MEMBER)
  // Extensions: null where the instance was created without them.
  PFN_vkCreateDebugUtilsMessengerEXT vkCreateDebugUtilsMessengerEXT = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT vkDestroyDebugUtilsMessengerEXT = nullptr;
  // To be called only for a device that lists VK_KHR_cooperative_matrix: an older loader returns a pointer
  // for every name, and calling it without support in the driver crashes.
  PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      nullptr;
};
Result<InstanceFunctions> load_instance_functions(const Loader& loader, VkInstance instance);

struct DeviceFunctions {
  PARITY_VK_DEVICE_FUNCTIONS(PARITY_VK_MEMBER)
};
Result<DeviceFunctions> load_device_functions(const InstanceFunctions& instance, VkDevice device);

/// "VK_ERROR_DEVICE_LOST (the device was lost: ...)".
std::string to_string(VkResult result);
/// An error of the kind that fits the result: device_failed for anything a device did wrong.
tl::unexpected<Error> vulkan_error(const char* call, VkResult result);

}  // namespace parity::vulkan
