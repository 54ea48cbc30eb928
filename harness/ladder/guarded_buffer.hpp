#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/program.hpp"

namespace parity {

/// Bytes of each guard zone, in front of and behind every device buffer; a multiple of every alignment that
/// devices ask for (SwiftShader: 256), and room enough for a tile's stray write.
inline constexpr std::size_t guard_bytes = 4096;

/// Where a tensor's bytes lie in its device buffer.
struct GuardedLayout {
  std::size_t payload_bytes = 0;  ///< extent * size_of(dtype)
  std::size_t offset() const { return guard_bytes; }
  std::size_t behind() const { return guard_bytes + payload_bytes; }  ///< where the rear zone starts
  std::size_t total() const;  ///< both zones and the payload, rounded up to 256
};
/// Error when extent or size overflow.
Result<GuardedLayout> guarded_layout(const TensorSpec& spec);

/// Fills a zone with the guard pattern of the dtype (the rear zone runs to the end of the buffer). Both zones
/// start on an element boundary.
void fill_guard(std::span<std::byte> zone, DType dtype);
/// Compares a zone with the pattern: damaged bytes and the first one's position, or none.
struct ZoneDamage {
  std::size_t first = 0, count = 0;
};
ZoneDamage check_guard(std::span<const std::byte> zone, DType dtype);
/// Front and rear zone of one tensor -> the damage found, appended.
void append_guard_damage(const TensorSpec& spec, std::span<const std::byte> front,
                         std::span<const std::byte> rear, std::vector<GuardDamage>& damage);

}  // namespace parity
