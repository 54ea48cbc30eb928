#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// Tagged bit patterns, quiet NaNs in the floating types. `unwritten` fills outputs before a run: an element
/// that still holds it was never written. `guard` fills pads between rows and the zones around every device
/// buffer: a read of it shows as NaN, a write over it as damage.
enum class Poison : std::uint8_t { unwritten, guard };

/// The pattern of one element of `dtype`, zero-extended to 64 bits.
std::uint64_t poison_bits(DType dtype, Poison poison);

/// Fills every stored element, pads included.
void poison_all(Tensor& tensor, Poison poison);
/// Fills the pads only (elements no index reaches).
void poison_pads(Tensor& tensor, Poison poison);

/// Storage positions of pads that no longer hold the guard pattern (at most `limit`).
std::vector<std::int64_t> damaged_pads(const Tensor& tensor, std::size_t limit = 16);

}  // namespace parity
