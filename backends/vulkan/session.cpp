#include "backends/vulkan/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "harness/tensor/poison.hpp"

namespace parity::vulkan {

namespace {

bool is_written_by_device(const TensorSpec& spec) {
  return spec.role == TensorSpec::Role::output || spec.role == TensorSpec::Role::intermediate;
}

}  // namespace

Result<std::unique_ptr<Session>> VulkanSession::load(std::shared_ptr<LogicalDevice> device,
                                                     const Program& program,
                                                     const std::vector<Dispatch>& dispatches) {
  std::unique_ptr<VulkanSession> self(new VulkanSession(std::move(device), program));
  self->tensors_.resize(program.tensors.size());
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    if (auto ok = self->create_tensor(static_cast<TensorId>(i)); !ok) return tl::unexpected(ok.error());
  if (auto ok = self->create_descriptors(dispatches); !ok) return tl::unexpected(ok.error());
  if (auto ok = self->record(dispatches); !ok) return tl::unexpected(ok.error());
  if (auto ok = self->device_->instance().messages().take(); !ok) return tl::unexpected(ok.error());
  return std::unique_ptr<Session>(std::move(self));
}

VulkanSession::~VulkanSession() {
  if (device_->hung()) {
    // The device may still be using all of it: left to the end of the process, device and instance included.
    for (Resident& r : tensors_) {
      new Buffer(std::move(r.buffer));
      new Buffer(std::move(r.poison));
    }
    new std::shared_ptr<LogicalDevice>(device_);
    return;
  }
  const DeviceFunctions& vk = device_->functions();
  if (commands_) device_->free_commands(commands_);
  if (timestamps_) vk.vkDestroyQueryPool(device_->handle(), timestamps_, nullptr);
  if (descriptor_pool_) vk.vkDestroyDescriptorPool(device_->handle(), descriptor_pool_, nullptr);
}

/// Buffer, guard zones, and a payload of guard poison, so that an input nobody wrote shows as NaN.
Result<void> VulkanSession::create_tensor(TensorId id) {
  const TensorSpec& spec = program_.spec(id);
  Resident& resident = tensors_[static_cast<std::size_t>(id)];
  auto layout = guarded_layout(spec);
  if (!layout) return tl::unexpected(layout.error());
  resident.layout = *layout;
  auto buffer = device_->memory().device_buffer(layout->total(), fmt::format("tensor '{}'", spec.name));
  if (!buffer) return tl::unexpected(buffer.error());
  resident.buffer = std::move(*buffer);

  std::vector<std::byte> zone(guard_bytes);
  fill_guard(zone, spec.dtype);
  if (auto ok = upload(resident.buffer, 0, zone); !ok) return ok;
  zone.resize(layout->total() - layout->behind());
  fill_guard(zone, spec.dtype);
  if (auto ok = upload(resident.buffer, layout->behind(), zone); !ok) return ok;
  if (is_written_by_device(spec)) return prepare_poison(id, resident);
  std::vector<std::byte> payload(layout->payload_bytes);
  fill_guard(payload, spec.dtype);
  return upload(resident.buffer, layout->offset(), payload);
}

/// Elements get Poison::unwritten before every run, pads Poison::guard. A fill does it for a gapless tensor
/// whose pattern is a repeated word; others are copied from an image on the device.
Result<void> VulkanSession::prepare_poison(TensorId id, Resident& resident) {
  const TensorSpec& spec = program_.spec(id);
  if (resident.layout.payload_bytes == 0) return {};
  auto image = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!image) return tl::unexpected(image.error());
  const std::uint64_t bits = poison_bits(spec.dtype, Poison::unwritten);
  const std::size_t element = size_of(spec.dtype);
  if (image->contiguous() && resident.layout.payload_bytes % 4 == 0 && element <= 4) {
    const auto word = static_cast<std::uint32_t>(bits);
    resident.poison_word = element == 2 ? word | word << 16 : word;
    return {};
  }
  poison_all(*image, Poison::unwritten);
  poison_pads(*image, Poison::guard);
  auto buffer = device_->memory().device_buffer(resident.layout.payload_bytes,
                                                fmt::format("poison of tensor '{}'", spec.name));
  if (!buffer) return tl::unexpected(buffer.error());
  resident.poison = std::move(*buffer);
  return upload(resident.poison, 0, image->bytes());
}

Result<void> VulkanSession::create_descriptors(const std::vector<Dispatch>& dispatches) {
  if (dispatches.empty()) return {};
  const DeviceFunctions& vk = device_->functions();
  std::uint32_t buffers = 0;
  for (const Dispatch& dispatch : dispatches) buffers += dispatch.pipeline.bindings;
  VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = static_cast<std::uint32_t>(dispatches.size());
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  VkResult result = vk.vkCreateDescriptorPool(device_->handle(), &pool, nullptr, &descriptor_pool_);
  if (result != VK_SUCCESS) return vulkan_error("vkCreateDescriptorPool", result);

  for (const Dispatch& dispatch : dispatches) {
    auto pipeline = device_->pipeline(dispatch.pipeline);
    if (!pipeline) return tl::unexpected(pipeline.error());
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = descriptor_pool_;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &pipeline->set_layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    result = vk.vkAllocateDescriptorSets(device_->handle(), &info, &set);
    if (result != VK_SUCCESS) return vulkan_error("vkAllocateDescriptorSets", result);
    std::vector<VkDescriptorBufferInfo> ranges;
    for (const TensorId id : dispatch.buffers)
      ranges.push_back({tensors_[static_cast<std::size_t>(id)].buffer.handle(), 0, VK_WHOLE_SIZE});
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set;
    write.descriptorCount = static_cast<std::uint32_t>(ranges.size());
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = ranges.data();
    vk.vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
    descriptor_sets_.push_back(set);
  }
  return {};
}

void VulkanSession::record_poison() {
  const DeviceFunctions& vk = device_->functions();
  for (const Resident& r : tensors_) {
    if (r.poison_word) {
      vk.vkCmdFillBuffer(commands_, r.buffer.handle(), r.layout.offset(), r.layout.payload_bytes,
                         *r.poison_word);
    } else if (r.poison.handle()) {
      const VkBufferCopy copy{0, r.layout.offset(), r.layout.payload_bytes};
      vk.vkCmdCopyBuffer(commands_, r.poison.handle(), r.buffer.handle(), 1, &copy);
    }
  }
}

/// Poison, then every dispatch with a barrier in front, between two timestamps.
Result<void> VulkanSession::record(const std::vector<Dispatch>& dispatches) {
  const DeviceFunctions& vk = device_->functions();
  if (device_->capabilities().timestamp_bits > 0) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2;
    const VkResult result = vk.vkCreateQueryPool(device_->handle(), &info, nullptr, &timestamps_);
    if (result != VK_SUCCESS) return vulkan_error("vkCreateQueryPool", result);
  }
  auto commands = device_->allocate_commands();
  if (!commands) return tl::unexpected(commands.error());
  commands_ = *commands;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  VkResult result = vk.vkBeginCommandBuffer(commands_, &begin);
  if (result != VK_SUCCESS) return vulkan_error("vkBeginCommandBuffer", result);

  constexpr VkPipelineStageFlags transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
  constexpr VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  constexpr VkAccessFlags any_shader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  // Whatever an earlier submission copied or computed comes first.
  memory_barrier(vk, commands_, transfer | compute, VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                 transfer, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  record_poison();
  memory_barrier(vk, commands_, transfer, VK_ACCESS_TRANSFER_WRITE_BIT, compute, any_shader);
  if (timestamps_) {
    vk.vkCmdResetQueryPool(commands_, timestamps_, 0, 2);
    vk.vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, timestamps_, 0);
  }
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const Dispatch& dispatch = dispatches[i];
    auto pipeline = device_->pipeline(dispatch.pipeline);
    if (!pipeline) return tl::unexpected(pipeline.error());
    if (i > 0) memory_barrier(vk, commands_, compute, VK_ACCESS_SHADER_WRITE_BIT, compute, any_shader);
    vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
    vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout, 0, 1,
                               &descriptor_sets_[i], 0, nullptr);
    if (!dispatch.push_words.empty())
      vk.vkCmdPushConstants(commands_, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            static_cast<std::uint32_t>(dispatch.push_words.size() * sizeof(std::uint32_t)),
                            dispatch.push_words.data());
    vk.vkCmdDispatch(commands_, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  }
  if (timestamps_) vk.vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, timestamps_, 1);
  result = vk.vkEndCommandBuffer(commands_);
  if (result != VK_SUCCESS) return vulkan_error("vkEndCommandBuffer", result);
  return {};
}

Result<void> VulkanSession::upload(const Buffer& to, VkDeviceSize offset, std::span<const std::byte> bytes) {
  const DeviceFunctions& vk = device_->functions();
  Buffer& staging = device_->staging();
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t piece = std::min<std::size_t>(bytes.size() - done, staging.size());
    std::memcpy(staging.mapped(), bytes.data() + done, piece);
    if (auto ok = staging.flush(); !ok) return ok;
    auto ok = device_->run_once([&](VkCommandBuffer commands) {
      memory_barrier(vk, commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                     VK_PIPELINE_STAGE_TRANSFER_BIT,
                     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
      const VkBufferCopy copy{0, offset + done, piece};
      vk.vkCmdCopyBuffer(commands, staging.handle(), to.handle(), 1, &copy);
    });
    if (!ok) return ok;
    done += piece;
  }
  return {};
}

Result<void> VulkanSession::download(const Buffer& from, VkDeviceSize offset, std::span<std::byte> bytes) {
  const DeviceFunctions& vk = device_->functions();
  Buffer& staging = device_->staging();
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t piece = std::min<std::size_t>(bytes.size() - done, staging.size());
    auto ok = device_->run_once([&](VkCommandBuffer commands) {
      memory_barrier(vk, commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                     VK_PIPELINE_STAGE_TRANSFER_BIT,
                     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
      const VkBufferCopy copy{offset + done, 0, piece};
      vk.vkCmdCopyBuffer(commands, from.handle(), staging.handle(), 1, &copy);
      memory_barrier(vk, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                     VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    });
    if (!ok) return ok;
    if (auto fresh = staging.invalidate(); !fresh) return fresh;
    std::memcpy(bytes.data() + done, staging.mapped(), piece);
    done += piece;
  }
  return {};
}

Result<VulkanSession::Resident*> VulkanSession::resident(TensorId id) {
  if (id < 0 || static_cast<std::size_t>(id) >= tensors_.size())
    return fail(ErrorKind::internal,
                fmt::format("tensor id {} is not in the program ({} tensors)", id, tensors_.size()));
  return &tensors_[static_cast<std::size_t>(id)];
}

Result<void> VulkanSession::write(TensorId id, const Tensor& tensor) {
  auto target = resident(id);
  if (!target) return tl::unexpected(target.error());
  const TensorSpec& spec = program_.spec(id);
  if (tensor.dtype() != spec.dtype || tensor.shape() != spec.shape || tensor.strides() != spec.strides)
    return fail(ErrorKind::internal,
                fmt::format("tensor '{}' is {} {}, the program has {} {} (strides must agree too)", spec.name,
                            name_of(tensor.dtype()), parity::to_string(tensor.shape()), name_of(spec.dtype),
                            parity::to_string(spec.shape)));
  if (auto ok = upload((*target)->buffer, (*target)->layout.offset(), tensor.bytes()); !ok) return ok;
  return device_->instance().messages().take();
}

Result<RunTiming> VulkanSession::run() {
  const auto start = std::chrono::steady_clock::now();
  if (auto ok = device_->submit(commands_); !ok) return tl::unexpected(ok.error());
  RunTiming timing;
  timing.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (timestamps_) {
    std::uint64_t ticks[2] = {};
    const VkResult result = device_->functions().vkGetQueryPoolResults(
        device_->handle(), timestamps_, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (result != VK_SUCCESS) return vulkan_error("vkGetQueryPoolResults", result);
    const std::uint32_t bits = device_->capabilities().timestamp_bits;
    const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    timing.device_seconds = static_cast<double>((ticks[1] - ticks[0]) & mask) *
                            device_->capabilities().timestamp_period_ns * 1e-9;
  }
  if (auto ok = device_->instance().messages().take(); !ok) return tl::unexpected(ok.error());
  return timing;
}

Result<Tensor> VulkanSession::read(TensorId id) {
  auto source = resident(id);
  if (!source) return tl::unexpected(source.error());
  const TensorSpec& spec = program_.spec(id);
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  if (auto ok = download((*source)->buffer, (*source)->layout.offset(), tensor->bytes()); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = device_->instance().messages().take(); !ok) return tl::unexpected(ok.error());
  return tensor;
}

Result<std::vector<GuardDamage>> VulkanSession::check_guards() {
  std::vector<GuardDamage> damage;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Resident& r = tensors_[i];
    std::vector<std::byte> front(guard_bytes), rear(r.layout.total() - r.layout.behind());
    if (auto ok = download(r.buffer, 0, front); !ok) return tl::unexpected(ok.error());
    if (auto ok = download(r.buffer, r.layout.behind(), rear); !ok) return tl::unexpected(ok.error());
    append_guard_damage(program_.tensors[i], front, rear, damage);
  }
  if (auto ok = device_->instance().messages().take(); !ok) return tl::unexpected(ok.error());
  return damage;
}

}  // namespace parity::vulkan
