#pragma once
#include <array>
#include <cstdint>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// What a look at every element of a tensor says: the words that the op `trace_scan` leaves on a device, made
/// from the bits as integers. Integers are all finite.
struct TensorScan {
  std::int64_t nan = 0, infinite = 0;
  std::int64_t first_nonfinite = -1;  ///< row-major index; -1: every element is finite
  /// Elements that hold Poison::unwritten, which is a NaN in the floating types; not told of int8, where
  /// every pattern is a usual value.
  std::int64_t unwritten = 0;
  float largest = 0;       ///< of the finite |x|, as fp32; of integers cut off to it
  std::uint32_t hash = 0;  ///< of every bit and its place; equal tensors have equal hashes

  std::int64_t nonfinite() const { return nan + infinite; }
  friend bool operator==(const TensorScan&, const TensorScan&) = default;
};

inline constexpr std::int64_t scan_words = 6;
/// {nan, infinite, first_nonfinite, unwritten, bits of `largest`, hash} as i32.
std::array<std::int32_t, scan_words> to_words(const TensorScan& scan);
TensorScan from_words(const std::array<std::int32_t, scan_words>& words);

/// On the host. fp64 elements take part in `largest` rounded to fp32 and in the hash by both halves.
TensorScan scan_tensor(const Tensor& tensor);

}  // namespace parity
