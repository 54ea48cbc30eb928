#include "backends/vulkan/instance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/vulkan/capabilities.hpp"

namespace parity::vulkan {

namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  static_cast<ValidationMessages*>(user)->add(data->pMessage ? data->pMessage : "(no text)");
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(ValidationMessages& messages) {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  info.pUserData = &messages;
  return info;
}

/// The version of Vulkan that the installed validation layer was written for.
std::optional<std::uint32_t> installed_layer(const Loader& loader) {
  std::uint32_t count = 0;
  loader.vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  loader.vkEnumerateInstanceLayerProperties(&count, layers.data());
  for (const VkLayerProperties& layer : layers)
    if (std::strcmp(layer.layerName, validation_layer) == 0) return layer.specVersion;
  return std::nullopt;
}

/// The extension that a message says the layer does not know, or "". The layer's words: "Device Extension
/// NAME is not supported by this layer", later "ppEnabledExtensionNames[i] NAME is not a known extension
/// string".
std::string unknown_extension(std::string_view message) {
  for (const std::string_view words :
       {" is not supported by this layer", " is not a known extension string"}) {
    const std::size_t end = message.find(words);
    if (end == message.npos || end == 0) continue;
    const std::size_t space = message.rfind(' ', end - 1);
    const std::string_view name = message.substr(space == message.npos ? 0 : space + 1, end - space - 1);
    if (name.starts_with("VK_")) return std::string(name);
  }
  return {};
}

/// While a device is created, a loader older than the driver asks for the address of every function it takes
/// for one of devices, some wrongly, and the layer warns. The functions we ask for are those of loader.hpp,
/// each checked for null, so such a warning is never about us.
bool is_the_loaders_own(std::string_view message) {
  return message.find("vkGetDeviceProcAddr(): pName is trying to grab") != message.npos;
}

bool has_extension(const Loader& loader, const char* layer, const char* name) {
  std::uint32_t count = 0;
  loader.vkEnumerateInstanceExtensionProperties(layer, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  loader.vkEnumerateInstanceExtensionProperties(layer, &count, extensions.data());
  for (const VkExtensionProperties& extension : extensions)
    if (std::strcmp(extension.extensionName, name) == 0) return true;
  return false;
}

}  // namespace

void ValidationMessages::add(std::string message) {
  if (is_the_loaders_own(message)) return;
  const std::lock_guard lock(mutex_);
  if (std::string name = unknown_extension(message);
      !name.empty() && std::ranges::find(unknown_extensions_, name) == unknown_extensions_.end())
    unknown_extensions_.push_back(std::move(name));
  messages_.push_back(std::move(message));
}

void ValidationMessages::set_layer_version(std::string version) {
  const std::lock_guard lock(mutex_);
  layer_version_ = std::move(version);
}

Result<void> ValidationMessages::take() {
  std::vector<std::string> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(messages_);
    if (!unknown_extensions_.empty())
      return fail(
          ErrorKind::unsupported,
          fmt::format("the validation layer here is {} and does not know {}, which the device uses, so "
                      "it cannot validate: install a newer layer (VK_LAYER_PATH names its folder) or "
                      "leave out --validate",
                      layer_version_, fmt::join(unknown_extensions_, " and ")));
  }
  if (taken.empty()) return {};
  std::string text = fmt::format("the Vulkan validation layer has {} message(s): {}", taken.size(), taken[0]);
  for (std::size_t i = 1; i < taken.size() && i < 4; ++i) text += "\n" + taken[i];
  return fail(ErrorKind::internal, std::move(text));
}

Result<std::shared_ptr<Instance>> Instance::create(bool validate) {
  auto loader = open_loader();
  if (!loader) return tl::unexpected(loader.error());
  std::uint32_t version = 0;
  loader->vkEnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_2)
    return fail(ErrorKind::missing_device,
                fmt::format("the Vulkan loader offers {}.{}; 1.2 is needed", VK_API_VERSION_MAJOR(version),
                            VK_API_VERSION_MINOR(version)));

  std::shared_ptr<Instance> self(new Instance);
  self->loader_ = *loader;

  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "parity";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;

  const VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{};
  VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(self->messages_);
  std::vector<const char*> extensions;
  if (validate) {
    const auto layer_version = installed_layer(*loader);
    if (!layer_version)
      return fail(
          ErrorKind::unsupported,
          fmt::format("validation was asked for, but {} is not installed (Debian, Ubuntu: apt-get install "
                      "vulkan-validationlayers; elsewhere set VK_LAYER_PATH)",
                      validation_layer));
    self->messages_.set_layer_version(version_text(*layer_version));
    if (!has_extension(*loader, validation_layer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME))
      return fail(
          ErrorKind::unsupported,
          fmt::format("{} has no VK_EXT_validation_features: synchronization validation cannot be switched "
                      "on; install another version",
                      validation_layer));
    extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = &enabled;
    features.pNext = &messenger;  // messages about the creation of the instance itself
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation_layer;
  }
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();

  const VkResult created = loader->vkCreateInstance(&info, nullptr, &self->instance_);
  if (created != VK_SUCCESS) {
    self->instance_ = VK_NULL_HANDLE;
    return fail(ErrorKind::missing_device,
                fmt::format("no Vulkan instance: {}; install a driver (Debian, Ubuntu: apt-get install "
                            "mesa-vulkan-drivers) or name one in VK_DRIVER_FILES",
                            to_string(created)));
  }
  auto functions = load_instance_functions(*loader, self->instance_);
  if (!functions) return tl::unexpected(functions.error());
  self->functions_ = *functions;
  if (validate) {
    messenger.pNext = nullptr;
    const VkResult result = self->functions_.vkCreateDebugUtilsMessengerEXT(self->instance_, &messenger,
                                                                            nullptr, &self->messenger_);
    if (result != VK_SUCCESS) return vulkan_error("vkCreateDebugUtilsMessengerEXT", result);
  }
  return self;
}

Instance::~Instance() {
  if (!instance_) return;
  if (messenger_) functions_.vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (functions_.vkDestroyInstance) functions_.vkDestroyInstance(instance_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::physical_devices() const {
  std::uint32_t count = 0;
  VkResult result = functions_.vkEnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  if (result == VK_SUCCESS && count > 0) {
    result = functions_.vkEnumeratePhysicalDevices(instance_, &count, devices.data());
    devices.resize(count);
  }
  if (result != VK_SUCCESS) return vulkan_error("vkEnumeratePhysicalDevices", result);
  if (devices.empty())
    return fail(ErrorKind::missing_device,
                "the Vulkan drivers offer no device (vulkaninfo --summary shows them)");
  return devices;
}

}  // namespace parity::vulkan
