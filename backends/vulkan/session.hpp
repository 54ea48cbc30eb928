#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/vulkan/logical_device.hpp"
#include "harness/ladder/backend.hpp"
#include "harness/ladder/guarded_buffer.hpp"

namespace parity::vulkan {

/// A program on a device: one buffer a tensor, all work of a run recorded once in one command buffer.
class VulkanSession final : public Session {
 public:
  /// `dispatches` run in order. Errors: out of memory, a pipeline that the driver refuses, a lost device.
  static Result<std::unique_ptr<Session>> load(std::shared_ptr<LogicalDevice> device, const Program& program,
                                               const std::vector<Dispatch>& dispatches);
  ~VulkanSession() override;

  Result<void> write(TensorId id, const Tensor& tensor) override;
  Result<RunTiming> run() override;
  Result<Tensor> read(TensorId id) override;
  Result<std::vector<GuardDamage>> check_guards() override;

 private:
  struct Resident {
    GuardedLayout layout;
    Buffer buffer;
    Buffer poison;  ///< what the payload holds before a run, where a fill cannot do it
    std::optional<std::uint32_t> poison_word;  ///< else the word to fill it with
  };
  explicit VulkanSession(std::shared_ptr<LogicalDevice> device, Program program)
      : device_(std::move(device)), program_(std::move(program)) {}

  Result<void> create_tensor(TensorId id);
  Result<void> prepare_poison(TensorId id, Resident& resident);
  Result<void> create_descriptors(const std::vector<Dispatch>& dispatches);
  Result<void> record(const std::vector<Dispatch>& dispatches);
  void record_poison();
  Result<void> upload(const Buffer& to, VkDeviceSize offset, std::span<const std::byte> bytes);
  Result<void> download(const Buffer& from, VkDeviceSize offset, std::span<std::byte> bytes);
  Result<Resident*> resident(TensorId id);

  std::shared_ptr<LogicalDevice> device_;
  Program program_;
  std::vector<Resident> tensors_;
  VkDescriptorPool descriptor_pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> descriptor_sets_;
  VkQueryPool timestamps_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

}  // namespace parity::vulkan
