#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/vulkan/logical_device.hpp"
#include "harness/ladder/backend.hpp"
#include "harness/ladder/guarded_buffer.hpp"

namespace parity::vulkan {

/// The runs of bytes that hold the elements of a tensor, relative to its first: one where nothing lies
/// between rows, else one a row.
struct ByteRun {
  VkDeviceSize offset = 0, size = 0;
};
std::vector<ByteRun> element_runs(const TensorSpec& spec);

/// A program on a device: one buffer a tensor that is no view, all work of a run recorded once in one command
/// buffer, the copies of advance() in another.
class VulkanSession final : public Session {
 public:
  /// `calls`: the dispatches of every call of the program, to run in order. Errors: out of memory, a pipeline
  /// that the driver refuses, a view or a carry that does not fit, a lost device.
  static Result<std::unique_ptr<Session>> load(std::shared_ptr<LogicalDevice> device, const Program& program,
                                               const std::vector<std::vector<Dispatch>>& calls);
  ~VulkanSession() override;

  Result<void> write(TensorId id, const Tensor& tensor) override;
  Result<RunTiming> run() override;
  Result<Tensor> read(TensorId id) override;
  Result<void> advance() override;
  Result<std::vector<GuardDamage>> check_guards() override;

 private:
  struct Resident {
    GuardedLayout layout;
    VkDeviceSize offset = 0;  ///< of the first byte in the buffer of the tensor itself, or of its root
    Buffer buffer;            ///< none for a view
    Buffer poison;            ///< what the payload holds before a run, where a fill cannot do it
    std::optional<std::uint32_t> poison_word;  ///< else the word to fill it with
  };
  explicit VulkanSession(std::shared_ptr<LogicalDevice> device, Program program)
      : device_(std::move(device)), program_(std::move(program)) {}

  Result<void> create_tensor(TensorId id);
  Result<void> place_view(TensorId id);
  Result<void> prepare_poison(TensorId id, Resident& resident);
  Result<void> create_descriptors(const std::vector<std::vector<Dispatch>>& calls);
  Result<VkDescriptorSet> create_descriptor_set(const Dispatch& dispatch);
  Result<VkCommandBuffer> begin_commands();
  Result<void> record(const std::vector<std::vector<Dispatch>>& calls);
  Result<void> record_dispatch(const Dispatch& dispatch, VkDescriptorSet set);
  void record_poison();
  Result<void> record_advance();
  Result<void> read_timestamps(RunTiming& timing) const;
  Result<void> upload(const Buffer& to, VkDeviceSize offset, std::span<const std::byte> bytes);
  Result<void> download(const Buffer& from, VkDeviceSize offset, std::span<std::byte> bytes);
  Result<Resident*> resident(TensorId id);

  const Buffer& buffer_of(TensorId id) const;
  VkDescriptorBufferInfo bound_range(TensorId id) const;

  std::shared_ptr<LogicalDevice> device_;
  Program program_;  ///< with the scratch memory as a last tensor, where a kernel needs any
  std::vector<Resident> tensors_;
  VkDescriptorPool descriptor_pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> descriptor_sets_;
  VkQueryPool timestamps_ = VK_NULL_HANDLE;  ///< one in front of the first call, one behind every call
  VkCommandBuffer commands_ = VK_NULL_HANDLE, advance_ = VK_NULL_HANDLE;
};

}  // namespace parity::vulkan
