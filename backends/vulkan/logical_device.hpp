#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "backends/vulkan/capabilities.hpp"
#include "backends/vulkan/kernel.hpp"
#include "backends/vulkan/memory.hpp"

namespace parity::vulkan {

/// A created device with one compute queue, its memory and its pipelines. Features are those found,
/// extensions those needed for cooperative matrices and bfloat16. Used by one thread at a time.
class LogicalDevice : public std::enable_shared_from_this<LogicalDevice> {
 public:
  static Result<std::shared_ptr<LogicalDevice>> create(std::shared_ptr<Instance> instance,
                                                       VkPhysicalDevice physical,
                                                       const Capabilities& capabilities,
                                                       double timeout_seconds,
                                                       ShaderSource shaders = spirv_of);
  ~LogicalDevice();
  LogicalDevice(const LogicalDevice&) = delete;
  LogicalDevice& operator=(const LogicalDevice&) = delete;

  VkDevice handle() const { return device_; }
  const DeviceFunctions& functions() const { return vk_; }
  const Capabilities& capabilities() const { return capabilities_; }
  Instance& instance() { return *instance_; }
  Memory& memory() { return memory_; }
  /// Host memory that every copy goes through, in pieces if need be.
  Buffer& staging() { return staging_; }

  /// A primary command buffer; freed with free_commands.
  Result<VkCommandBuffer> allocate_commands();
  void free_commands(VkCommandBuffer commands);
  /// Submits and waits. Beyond the time limit, and when the device is lost, the device is dead.
  Result<void> submit(VkCommandBuffer commands);
  /// Records once, submits and waits.
  Result<void> run_once(const std::function<void(VkCommandBuffer)>& record);
  bool dead() const { return hung_ || lost_; }
  /// The device did not come back in time: it may still be reading and writing its buffers.
  bool hung() const { return hung_; }

  struct Pipeline {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  };
  /// Compiled once for every distinct request.
  Result<Pipeline> pipeline(const PipelineRequest& request);

 private:
  LogicalDevice() = default;
  struct Layout {
    std::uint32_t bindings = 0;
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  Result<Layout> layout(std::uint32_t bindings);

  std::shared_ptr<Instance> instance_;
  Capabilities capabilities_;
  VkDevice device_ = VK_NULL_HANDLE;
  DeviceFunctions vk_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  Memory memory_;
  Buffer staging_;
  std::vector<Layout> layouts_;
  std::vector<std::pair<PipelineRequest, Pipeline>> pipelines_;
  double timeout_seconds_ = 60;
  ShaderSource shaders_;
  bool hung_ = false, lost_ = false;
};

/// Bytes of push constants in every pipeline layout; every Vulkan device has at least these.
inline constexpr std::uint32_t push_constant_bytes = 128;

/// A barrier over all memory between two kinds of work.
void memory_barrier(const DeviceFunctions& vk, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags used);

}  // namespace parity::vulkan
