// VulkanSession's command buffers: descriptors, dispatches with their barriers and timestamps, copies.
#include <fmt/format.h>

#include <algorithm>

#include "backends/vulkan/session.hpp"

namespace parity::vulkan {

std::vector<ByteRun> element_runs(const TensorSpec& spec) {
  const VkDeviceSize element = size_of(spec.dtype);
  std::vector<ByteRun> runs{{0, element}};
  for (std::size_t d = spec.shape.size(); d-- > 0;) {
    const auto count = static_cast<VkDeviceSize>(spec.shape[d]);
    const VkDeviceSize step = static_cast<VkDeviceSize>(spec.strides[d]) * element;
    if (count == 0) return {};
    if (runs.size() == 1 && (step == runs[0].size || count == 1)) {
      runs[0].size *= count;
      continue;
    }
    const std::vector<ByteRun> inner = runs;
    for (VkDeviceSize i = 1; i < count; ++i)
      for (const ByteRun& run : inner) runs.push_back({run.offset + i * step, run.size});
  }
  return runs;
}

const Buffer& VulkanSession::buffer_of(TensorId id) const {
  const TensorSpec& spec = program_.spec(id);
  return tensors_[static_cast<std::size_t>(spec.is_view() ? spec.view_of : id)].buffer;
}

/// What a shader sees: a guard zone's length in front of the first element, whatever lies there, and as much
/// behind the last. A view near its root's end ends with the buffer.
VkDescriptorBufferInfo VulkanSession::bound_range(TensorId id) const {
  if (id == scratch_buffer) id = static_cast<TensorId>(tensors_.size() - 1);
  const Resident& r = tensors_[static_cast<std::size_t>(id)];
  const Buffer& buffer = buffer_of(id);
  const VkDeviceSize start = r.offset - r.layout.offset();
  return {buffer.handle(), start, std::min<VkDeviceSize>(r.layout.total(), buffer.size() - start)};
}

Result<void> VulkanSession::create_descriptors(const std::vector<std::vector<Dispatch>>& calls) {
  const DeviceFunctions& vk = device_->functions();
  std::uint32_t sets = 0, buffers = 0;
  for (const auto& dispatches : calls)
    for (const Dispatch& dispatch : dispatches) ++sets, buffers += dispatch.pipeline.bindings;
  if (sets == 0) return {};
  VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = sets;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  const VkResult result = vk.vkCreateDescriptorPool(device_->handle(), &pool, nullptr, &descriptor_pool_);
  if (result != VK_SUCCESS) return vulkan_error("vkCreateDescriptorPool", result);
  for (const auto& dispatches : calls)
    for (const Dispatch& dispatch : dispatches) {
      auto set = create_descriptor_set(dispatch);
      if (!set) return tl::unexpected(set.error());
      descriptor_sets_.push_back(*set);
    }
  return {};
}

Result<VkDescriptorSet> VulkanSession::create_descriptor_set(const Dispatch& dispatch) {
  const DeviceFunctions& vk = device_->functions();
  auto pipeline = device_->pipeline(dispatch.pipeline);
  if (!pipeline) return tl::unexpected(pipeline.error());
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = descriptor_pool_;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &pipeline->set_layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  const VkResult result = vk.vkAllocateDescriptorSets(device_->handle(), &info, &set);
  if (result != VK_SUCCESS) return vulkan_error("vkAllocateDescriptorSets", result);
  std::vector<VkDescriptorBufferInfo> ranges;
  for (const TensorId id : dispatch.buffers) ranges.push_back(bound_range(id));
  VkWriteDescriptorSet write{};
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = set;
  write.descriptorCount = static_cast<std::uint32_t>(ranges.size());
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = ranges.data();
  vk.vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
  return set;
}

void VulkanSession::record_poison() {
  const DeviceFunctions& vk = device_->functions();
  for (const Resident& r : tensors_) {
    if (r.poison_word) {
      vk.vkCmdFillBuffer(commands_, r.buffer.handle(), r.offset, r.layout.payload_bytes, *r.poison_word);
    } else if (r.poison.handle()) {
      const VkBufferCopy copy{0, r.offset, r.layout.payload_bytes};
      vk.vkCmdCopyBuffer(commands_, r.poison.handle(), r.buffer.handle(), 1, &copy);
    }
  }
}

/// A command buffer that waits for whatever an earlier submission copied or computed.
Result<VkCommandBuffer> VulkanSession::begin_commands() {
  const DeviceFunctions& vk = device_->functions();
  auto commands = device_->allocate_commands();
  if (!commands) return commands;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  if (const VkResult result = vk.vkBeginCommandBuffer(*commands, &begin); result != VK_SUCCESS) {
    device_->free_commands(*commands);
    return vulkan_error("vkBeginCommandBuffer", result);
  }
  memory_barrier(vk, *commands, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                 VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                 VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  return commands;
}

/// Poison, then every dispatch with a barrier in front, and a timestamp around every call.
Result<void> VulkanSession::record(const std::vector<std::vector<Dispatch>>& calls) {
  const DeviceFunctions& vk = device_->functions();
  const auto stamps = static_cast<std::uint32_t>(calls.size() + 1);
  if (device_->capabilities().timestamp_bits > 0) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = stamps;
    const VkResult result = vk.vkCreateQueryPool(device_->handle(), &info, nullptr, &timestamps_);
    if (result != VK_SUCCESS) return vulkan_error("vkCreateQueryPool", result);
  }
  auto commands = begin_commands();
  if (!commands) return tl::unexpected(commands.error());
  commands_ = *commands;
  constexpr VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  constexpr VkAccessFlags any_shader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  record_poison();
  memory_barrier(vk, commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, compute,
                 any_shader);
  if (timestamps_) vk.vkCmdResetQueryPool(commands_, timestamps_, 0, stamps);
  const auto stamp = [&](std::size_t query) {
    if (timestamps_)
      vk.vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, timestamps_,
                             static_cast<std::uint32_t>(query));
  };
  stamp(0);
  std::size_t recorded = 0;
  for (std::size_t call = 0; call < calls.size(); ++call) {
    for (const Dispatch& dispatch : calls[call]) {
      if (recorded > 0)
        memory_barrier(vk, commands_, compute, VK_ACCESS_SHADER_WRITE_BIT, compute, any_shader);
      if (auto ok = record_dispatch(dispatch, descriptor_sets_[recorded++]); !ok) return ok;
    }
    stamp(call + 1);
  }
  const VkResult result = vk.vkEndCommandBuffer(commands_);
  if (result != VK_SUCCESS) return vulkan_error("vkEndCommandBuffer", result);
  return {};
}

Result<void> VulkanSession::record_dispatch(const Dispatch& dispatch, VkDescriptorSet set) {
  const DeviceFunctions& vk = device_->functions();
  auto pipeline = device_->pipeline(dispatch.pipeline);
  if (!pipeline) return tl::unexpected(pipeline.error());
  vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout, 0, 1, &set, 0,
                             nullptr);
  if (!dispatch.push_words.empty())
    vk.vkCmdPushConstants(commands_, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<std::uint32_t>(dispatch.push_words.size() * sizeof(std::uint32_t)),
                          dispatch.push_words.data());
  vk.vkCmdDispatch(commands_, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  return {};
}

/// The copies of Program::carries. The next run's first barrier waits for them.
Result<void> VulkanSession::record_advance() {
  if (program_.carries.empty()) return {};
  for (const Carry& carry : program_.carries) {
    for (const TensorId id : {carry.from, carry.to})
      if (auto known = resident(id); !known) return tl::unexpected(known.error());
    const TensorSpec &from = program_.spec(carry.from), &to = program_.spec(carry.to);
    if (from.dtype != to.dtype || from.shape != to.shape || from.strides != to.strides)
      return fail(ErrorKind::internal,
                  fmt::format("'{}' cannot be carried into '{}': dtype, shape or strides "
                              "differ",
                              from.name, to.name));
    for (const Carry& other : program_.carries)
      if (other.from == carry.to)
        return fail(ErrorKind::internal,
                    fmt::format("'{}' is carried on and carried into; copies have no order", to.name));
  }
  const DeviceFunctions& vk = device_->functions();
  auto commands = begin_commands();
  if (!commands) return tl::unexpected(commands.error());
  advance_ = *commands;
  for (const Carry& carry : program_.carries) {
    const VkDeviceSize from = tensors_[static_cast<std::size_t>(carry.from)].offset;
    const VkDeviceSize to = tensors_[static_cast<std::size_t>(carry.to)].offset;
    std::vector<VkBufferCopy> copies;
    for (const ByteRun& run : element_runs(program_.spec(carry.from)))
      copies.push_back({from + run.offset, to + run.offset, run.size});
    if (!copies.empty())
      vk.vkCmdCopyBuffer(advance_, buffer_of(carry.from).handle(), buffer_of(carry.to).handle(),
                         static_cast<std::uint32_t>(copies.size()), copies.data());
  }
  const VkResult result = vk.vkEndCommandBuffer(advance_);
  if (result != VK_SUCCESS) return vulkan_error("vkEndCommandBuffer", result);
  return {};
}

}  // namespace parity::vulkan
