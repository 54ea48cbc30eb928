#include "backends/vulkan/loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace parity::vulkan {

Result<Loader> open_loader() {
  void* handle = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    return fail(
        ErrorKind::missing_device,
        fmt::format("no Vulkan loader: {}; install it (Debian, Ubuntu: apt-get install libvulkan1, and a "
                    "driver such as mesa-vulkan-drivers)",
                    reason ? reason : "libvulkan.so.1 was not found"));
  }
  Loader loader;
  loader.library = std::shared_ptr<void>(handle, [](void* library) { dlclose(library); });
  loader.vkGetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(handle, "vkGetInstanceProcAddr"));
  if (!loader.vkGetInstanceProcAddr)
    return fail(ErrorKind::missing_device,
                "libvulkan.so.1 is no Vulkan loader: vkGetInstanceProcAddr is missing");
  const auto get = [&](const char* name) { return loader.vkGetInstanceProcAddr(nullptr, name); };
  loader.vkCreateInstance = reinterpret_cast<PFN_vkCreateInstance>(get("vkCreateInstance"));
  loader.vkEnumerateInstanceVersion =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(get("vkEnumerateInstanceVersion"));
  loader.vkEnumerateInstanceExtensionProperties =
      reinterpret_cast<PFN_vkEnumerateInstanceExtensionProperties>(
          get("vkEnumerateInstanceExtensionProperties"));
  loader.vkEnumerateInstanceLayerProperties =
      reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(get("vkEnumerateInstanceLayerProperties"));
  if (!loader.vkCreateInstance || !loader.vkEnumerateInstanceVersion ||
      !loader.vkEnumerateInstanceExtensionProperties || !loader.vkEnumerateInstanceLayerProperties)
    return fail(ErrorKind::missing_device,
                "the Vulkan loader is older than Vulkan 1.1; install a newer libvulkan1");
  return loader;
}

Result<InstanceFunctions> load_instance_functions(const Loader& loader, VkInstance instance) {
  InstanceFunctions functions;
  const auto get = [&](const char* name) { return loader.vkGetInstanceProcAddr(instance, name); };
#define PARITY_VK_LOAD(name)                                 \
  functions.name = reinterpret_cast<PFN_##name>(get(#name)); \
  if (!functions.name) return fail(ErrorKind::missing_device, "the Vulkan loader has no " #name);
  PARITY_VK_INSTANCE_FUNCTIONS(PARITY_VK_LOAD)
#undef PARITY_VK_LOAD
  functions.vkCreateDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(get("vkCreateDebugUtilsMessengerEXT"));
  functions.vkDestroyDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(get("vkDestroyDebugUtilsMessengerEXT"));
  functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
          get("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return functions;
}

Result<DeviceFunctions> load_device_functions(const InstanceFunctions& instance, VkDevice device) {
  DeviceFunctions functions;
#define PARITY_VK_LOAD(name)                                                                  \
  functions.name = reinterpret_cast<PFN_##name>(instance.vkGetDeviceProcAddr(device, #name)); \
  if (!functions.name) return fail(ErrorKind::missing_device, "the Vulkan driver has no " #name);
  PARITY_VK_DEVICE_FUNCTIONS(PARITY_VK_LOAD)
#undef PARITY_VK_LOAD
  return functions;
}

std::string to_string(VkResult result) {
  switch (result) {
    case VK_SUCCESS:
      return "VK_SUCCESS";
    case VK_NOT_READY:
      return "VK_NOT_READY";
    case VK_TIMEOUT:
      return "VK_TIMEOUT";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST (the device hung, crashed or was reset)";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER (no Vulkan driver is installed)";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FRAGMENTED_POOL:
      return "VK_ERROR_FRAGMENTED_POOL";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return "VK_ERROR_OUT_OF_POOL_MEMORY";
    default:
      return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

tl::unexpected<Error> vulkan_error(const char* call, VkResult result) {
  return fail(ErrorKind::device_failed, fmt::format("{} failed: {}", call, to_string(result)));
}

}  // namespace parity::vulkan
