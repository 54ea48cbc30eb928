#include "backends/vulkan/memory.hpp"

#include <fmt/format.h>

#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#define VMA_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wparentheses"
#include <vk_mem_alloc.h>
#pragma GCC diagnostic pop

namespace parity::vulkan {

Buffer::~Buffer() {
  if (buffer_) vmaDestroyBuffer(allocator_, buffer_, allocation_);
}

Result<void> Buffer::flush() {
  const VkResult result = vmaFlushAllocation(allocator_, allocation_, 0, VK_WHOLE_SIZE);
  if (result != VK_SUCCESS) return vulkan_error("vmaFlushAllocation", result);
  return {};
}

Result<void> Buffer::invalidate() {
  const VkResult result = vmaInvalidateAllocation(allocator_, allocation_, 0, VK_WHOLE_SIZE);
  if (result != VK_SUCCESS) return vulkan_error("vmaInvalidateAllocation", result);
  return {};
}

Memory::~Memory() {
  close();
}

void Memory::close() {
  if (allocator_) vmaDestroyAllocator(allocator_);
  allocator_ = nullptr;
}

Result<void> Memory::open(const Instance& instance, VkPhysicalDevice physical, VkDevice device) {
  VmaVulkanFunctions functions{};
  functions.vkGetInstanceProcAddr = instance.loader().vkGetInstanceProcAddr;
  functions.vkGetDeviceProcAddr = instance.functions().vkGetDeviceProcAddr;
  VmaAllocatorCreateInfo info{};
  info.instance = instance.handle();
  info.physicalDevice = physical;
  info.device = device;
  info.vulkanApiVersion = VK_API_VERSION_1_2;
  info.pVulkanFunctions = &functions;
  // Small blocks: software devices clear every block they hand out. Large tensors get memory of their own.
  info.preferredLargeHeapBlockSize = VkDeviceSize{32} << 20;
  const VkResult result = vmaCreateAllocator(&info, &allocator_);
  if (result != VK_SUCCESS) {
    allocator_ = nullptr;
    return vulkan_error("vmaCreateAllocator", result);
  }
  return {};
}

Result<Buffer> Memory::create(VkDeviceSize size, VkBufferUsageFlags usage, bool host,
                              const std::string& name) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = size;
  info.usage = usage;
  VmaAllocationCreateInfo allocation{};
  allocation.usage = host ? VMA_MEMORY_USAGE_AUTO_PREFER_HOST : VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
  if (host)
    allocation.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
  VmaAllocationInfo placed{};
  Buffer buffer;
  const VkResult result =
      vmaCreateBuffer(allocator_, &info, &allocation, &buffer.buffer_, &buffer.allocation_, &placed);
  if (result != VK_SUCCESS) {
    buffer.buffer_ = VK_NULL_HANDLE;
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
      return fail(ErrorKind::unsupported, fmt::format("{}: {} bytes do not fit the device's memory ({})",
                                                      name, size, to_string(result)));
    return vulkan_error("vmaCreateBuffer", result);
  }
  buffer.allocator_ = allocator_;
  buffer.size_ = size;
  buffer.mapped_ = host ? static_cast<std::byte*>(placed.pMappedData) : nullptr;
  return buffer;
}

Result<Buffer> Memory::device_buffer(VkDeviceSize size, const std::string& name) {
  return create(size,
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                    VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                false, name);
}

Result<Buffer> Memory::staging_buffer(VkDeviceSize size) {
  return create(size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, true,
                "staging buffer");
}

}  // namespace parity::vulkan
