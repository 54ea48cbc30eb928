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

std::int64_t scratch_floats(const std::vector<std::vector<Dispatch>>& calls) {
  std::int64_t most = 0;
  for (const auto& dispatches : calls)
    for (const Dispatch& dispatch : dispatches) most = std::max(most, dispatch.scratch_floats);
  return most;
}

}  // namespace

Result<std::unique_ptr<Session>> VulkanSession::load(std::shared_ptr<LogicalDevice> device,
                                                     const Program& program,
                                                     const std::vector<std::vector<Dispatch>>& calls) {
  std::unique_ptr<VulkanSession> self(new VulkanSession(std::move(device), program));
  for (TensorSpec& spec : self->program_.tensors)
    if (spec.strides.empty()) spec.strides = contiguous_strides(spec.shape);
  if (const std::int64_t floats = scratch_floats(calls); floats > 0)
    self->program_.tensors.push_back(
        {"scratch memory of the kernels", DType::f32, {floats}, {1}, TensorSpec::Role::intermediate});
  const std::size_t count = self->program_.tensors.size();
  self->tensors_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<TensorId>(i);
    auto ok = self->program_.spec(id).is_view() ? self->place_view(id) : self->create_tensor(id);
    if (!ok) return tl::unexpected(ok.error());
  }
  if (auto ok = self->create_descriptors(calls); !ok) return tl::unexpected(ok.error());
  if (auto ok = self->record(calls); !ok) return tl::unexpected(ok.error());
  if (auto ok = self->record_advance(); !ok) return tl::unexpected(ok.error());
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
  if (advance_) device_->free_commands(advance_);
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
  resident.offset = layout->offset();
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

/// A view has no buffer and no guard zones of its own.
Result<void> VulkanSession::place_view(TensorId id) {
  const TensorSpec& spec = program_.spec(id);
  const bool root_known = spec.view_of >= 0 && static_cast<std::size_t>(spec.view_of) < tensors_.size() &&
                          !program_.spec(spec.view_of).is_view();
  if (!root_known)
    return fail(ErrorKind::internal, fmt::format("view '{}' lies in no tensor of its own memory", spec.name));
  const TensorSpec& root = program_.spec(spec.view_of);
  const auto layout = guarded_layout(spec), root_layout = guarded_layout(root);
  if (!layout) return tl::unexpected(layout.error());
  if (!root_layout) return tl::unexpected(root_layout.error());
  const auto bytes = spec.view_offset * static_cast<std::int64_t>(size_of(spec.dtype));
  if (spec.dtype != root.dtype || spec.role != root.role || bytes < 0 || bytes % view_alignment != 0 ||
      static_cast<std::size_t>(bytes) + layout->payload_bytes > root_layout->payload_bytes)
    return fail(
        ErrorKind::internal,
        fmt::format("view '{}' does not fit '{}': it needs its dtype and role, room, and an offset in "
                    "multiples of {} bytes",
                    spec.name, root.name, view_alignment));
  Resident& resident = tensors_[static_cast<std::size_t>(id)];
  resident.layout = *layout;
  resident.offset = root_layout->offset() + static_cast<VkDeviceSize>(bytes);
  return {};
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

Result<void> VulkanSession::advance() {
  if (!advance_) return {};
  if (auto ok = device_->submit(advance_); !ok) return ok;
  return device_->instance().messages().take();
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
  if (!spec.is_view() || tensor.contiguous()) {
    if (auto ok = upload(buffer_of(id), (*target)->offset, tensor.bytes()); !ok) return ok;
  } else {
    // What lies between a view's rows is not its own.
    std::vector<std::byte> bytes((*target)->layout.payload_bytes);
    if (auto ok = download(buffer_of(id), (*target)->offset, bytes); !ok) return ok;
    for (const ByteRun& run : element_runs(spec))
      std::memcpy(bytes.data() + run.offset, tensor.bytes().data() + run.offset, run.size);
    if (auto ok = upload(buffer_of(id), (*target)->offset, bytes); !ok) return ok;
  }
  return device_->instance().messages().take();
}

Result<RunTiming> VulkanSession::run() {
  const auto start = std::chrono::steady_clock::now();
  if (auto ok = device_->submit(commands_); !ok) return tl::unexpected(ok.error());
  RunTiming timing;
  timing.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (auto ok = read_timestamps(timing); !ok) return tl::unexpected(ok.error());
  if (auto ok = device_->instance().messages().take(); !ok) return tl::unexpected(ok.error());
  return timing;
}

Result<void> VulkanSession::read_timestamps(RunTiming& timing) const {
  if (!timestamps_) return {};
  std::vector<std::uint64_t> ticks(program_.calls.size() + 1);
  const VkResult result = device_->functions().vkGetQueryPoolResults(
      device_->handle(), timestamps_, 0, static_cast<std::uint32_t>(ticks.size()),
      ticks.size() * sizeof ticks[0], ticks.data(), sizeof ticks[0],
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (result != VK_SUCCESS) return vulkan_error("vkGetQueryPoolResults", result);
  const std::uint32_t bits = device_->capabilities().timestamp_bits;
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const auto seconds = [&](std::uint64_t first, std::uint64_t last) {
    return static_cast<double>((last - first) & mask) * device_->capabilities().timestamp_period_ns * 1e-9;
  };
  timing.device_seconds = seconds(ticks.front(), ticks.back());
  for (std::size_t i = 1; i < ticks.size(); ++i)
    timing.call_seconds.push_back(seconds(ticks[i - 1], ticks[i]));
  return {};
}

Result<Tensor> VulkanSession::read(TensorId id) {
  auto source = resident(id);
  if (!source) return tl::unexpected(source.error());
  const TensorSpec& spec = program_.spec(id);
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  if (auto ok = download(buffer_of(id), (*source)->offset, tensor->bytes()); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = device_->instance().messages().take(); !ok) return tl::unexpected(ok.error());
  return tensor;
}

Result<std::vector<GuardDamage>> VulkanSession::check_guards() {
  std::vector<GuardDamage> damage;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Resident& r = tensors_[i];
    if (!r.buffer.handle()) continue;  // a view
    std::vector<std::byte> front(guard_bytes), rear(r.layout.total() - r.layout.behind());
    if (auto ok = download(r.buffer, 0, front); !ok) return tl::unexpected(ok.error());
    if (auto ok = download(r.buffer, r.layout.behind(), rear); !ok) return tl::unexpected(ok.error());
    append_guard_damage(program_.tensors[i], front, rear, damage);
  }
  if (auto ok = device_->instance().messages().take(); !ok) return tl::unexpected(ok.error());
  return damage;
}

}  // namespace parity::vulkan
