#pragma once
#include <cstddef>
#include <utility>

#include "backends/vulkan/instance.hpp"

// Handles of the Vulkan Memory Allocator; its header is compiled in memory.cpp alone.
struct VmaAllocator_T;
struct VmaAllocation_T;

namespace parity::vulkan {

/// A buffer with its memory, freed at the end of its life.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  VkBuffer handle() const { return buffer_; }
  VkDeviceSize size() const { return size_; }
  std::byte* mapped() const { return mapped_; }  ///< null for device memory

  /// Host caches and device, for staging buffers whose memory is not coherent.
  Result<void> flush();
  Result<void> invalidate();

 private:
  friend class Memory;
  void swap(Buffer& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(allocation_, other.allocation_);
    std::swap(buffer_, other.buffer_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
  }
  VmaAllocator_T* allocator_ = nullptr;
  VmaAllocation_T* allocation_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceSize size_ = 0;
  std::byte* mapped_ = nullptr;
};

/// Allocates buffers of one device. Buffers must not outlive it.
class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Result<void> open(const Instance& instance, VkPhysicalDevice physical, VkDevice device);
  void close();
  /// A storage buffer in device memory, also source and target of copies. Out of memory: unsupported, by
  /// name.
  Result<Buffer> device_buffer(VkDeviceSize size, const std::string& name);
  /// Host memory to copy from and to, mapped for good.
  Result<Buffer> staging_buffer(VkDeviceSize size);

 private:
  Result<Buffer> create(VkDeviceSize size, VkBufferUsageFlags usage, bool host, const std::string& name);
  VmaAllocator_T* allocator_ = nullptr;
};

}  // namespace parity::vulkan
