#pragma once
#include <cstddef>
#include <cstdint>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/element_kernel.hpp"
#include "harness/numerics/element_screen.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// Reads a result and its reference side by side into element blocks. Absent arrays of the reference count as
/// zero. Keeps references to both; `got` holds want.size() elements.
class BlockReader {
 public:
  /// `bits_only`: the contract asks for bits, bounds are not read.
  BlockReader(const Tensor& got, const Value& want, bool bits_only);

  /// Elements [index, index + count) in logical row-major order, count <= capacity; the inputs up to the next
  /// multiple of eight are zeroed. NaN and infinities come through.
  void load(ElementBlock& block, std::int64_t index, std::size_t count) const;
  /// One element into place `slot`.
  void load_one(ElementBlock& block, std::size_t slot, std::int64_t index) const;
  /// The same elements where they lie; a result that is not fp64 without gaps is widened into block.got.
  /// `offsets`: taken to have some; otherwise they are looked for.
  ElementRun run(ElementBlock& block, std::int64_t index, std::size_t count, bool offsets) const;
  DType dtype() const { return got_.dtype(); }
  std::uint64_t bits(std::int64_t index) const { return got_.bits(index); }

 private:
  void load_got(double* out, std::int64_t index, std::size_t count) const;
  void widen_run(double* out, std::int64_t offset, std::size_t count) const;

  const Tensor& got_;
  const Value& want_;
  bool bits_only_;
  std::int64_t run_length_;  ///< elements that lie one after the other in storage
};

}  // namespace parity
