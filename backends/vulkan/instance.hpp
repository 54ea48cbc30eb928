#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/vulkan/loader.hpp"

namespace parity::vulkan {

/// What the validation layer said: warnings and errors since they were last taken. Called from any thread.
class ValidationMessages {
 public:
  void add(std::string message);
  /// The messages so far as an error (kind internal: the harness misused the API), or nothing; clears them.
  /// A layer that once said that it does not know an extension in use is wrong about much that follows: from
  /// then on the error is that alone (kind unsupported), every time.
  Result<void> take();
  /// "1.3.239": the layer's version, for that error.
  void set_layer_version(std::string version);

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::string layer_version_ = "of unknown version";
  std::vector<std::string> unknown_extensions_;
};

/// A Vulkan instance, with the Khronos validation layer and its synchronization validation when asked for.
class Instance {
 public:
  /// Errors: no loader, no driver, Vulkan older than 1.2, or validation wanted and the layer not installed.
  static Result<std::shared_ptr<Instance>> create(bool validate);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return instance_; }
  const Loader& loader() const { return loader_; }
  const InstanceFunctions& functions() const { return functions_; }
  ValidationMessages& messages() { return messages_; }
  Result<std::vector<VkPhysicalDevice>> physical_devices() const;

 private:
  Instance() = default;
  Loader loader_;
  VkInstance instance_ = VK_NULL_HANDLE;
  InstanceFunctions functions_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  ValidationMessages messages_;
};

}  // namespace parity::vulkan
