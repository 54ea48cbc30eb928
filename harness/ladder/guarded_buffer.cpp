#include "harness/ladder/guarded_buffer.hpp"

#include <fmt/format.h>

#include <cstring>

#include "harness/tensor/poison.hpp"

namespace parity {

std::size_t GuardedLayout::total() const {
  const std::size_t end = behind() + guard_bytes;
  return (end + 255) / 256 * 256;
}

Result<GuardedLayout> guarded_layout(const TensorSpec& spec) {
  const auto probe = storage_extent(spec.dtype, spec.shape,
                                    spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides);
  if (!probe)
    return fail(probe.error().kind, fmt::format("tensor '{}': {}", spec.name, probe.error().message));
  return GuardedLayout{static_cast<std::size_t>(*probe) * size_of(spec.dtype)};
}

namespace {

/// Byte `i` of the repeated pattern.
std::byte pattern_byte(std::uint64_t bits, std::size_t element_size, std::size_t i) {
  return static_cast<std::byte>(bits >> (8 * (i % element_size)) & 0xff);
}

}  // namespace

void fill_guard(std::span<std::byte> zone, DType dtype) {
  const std::uint64_t bits = poison_bits(dtype, Poison::guard);
  for (std::size_t i = 0; i < zone.size(); ++i) zone[i] = pattern_byte(bits, size_of(dtype), i);
}

ZoneDamage check_guard(std::span<const std::byte> zone, DType dtype) {
  const std::uint64_t bits = poison_bits(dtype, Poison::guard);
  ZoneDamage damage;
  for (std::size_t i = 0; i < zone.size(); ++i) {
    if (zone[i] == pattern_byte(bits, size_of(dtype), i)) continue;
    if (damage.count == 0) damage.first = i;
    ++damage.count;
  }
  return damage;
}

void append_guard_damage(const TensorSpec& spec, std::span<const std::byte> front,
                         std::span<const std::byte> rear, std::vector<GuardDamage>& damage) {
  if (const ZoneDamage hit = check_guard(front, spec.dtype); hit.count > 0)
    damage.push_back({spec.name,
                      static_cast<std::int64_t>(hit.first) - static_cast<std::int64_t>(front.size()),
                      static_cast<std::int64_t>(hit.count)});
  if (const ZoneDamage hit = check_guard(rear, spec.dtype); hit.count > 0) {
    const auto layout = guarded_layout(spec);
    const std::int64_t payload = layout ? static_cast<std::int64_t>(layout->payload_bytes) : 0;
    damage.push_back(
        {spec.name, payload + static_cast<std::int64_t>(hit.first), static_cast<std::int64_t>(hit.count)});
  }
}

}  // namespace parity
