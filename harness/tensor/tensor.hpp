#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/tensor/dtype.hpp"

namespace parity {

using Shape = std::vector<std::int64_t>;
using Strides = std::vector<std::int64_t>;  ///< in elements, one per dimension, non-negative

/// Row-major strides without gaps.
Strides contiguous_strides(const Shape& shape);
/// Row-major strides whose last-but-one dimension advances by `leading` elements (>= the last dimension).
Strides leading_strides(const Shape& shape, std::int64_t leading);
/// Number of logical elements (product of the dimensions; 1 for rank 0); error on overflow or a negative
/// size.
Result<std::int64_t> element_count(const Shape& shape);
/// Stored elements that shape and strides (one per dimension) span, pads included; the same errors as
/// Tensor::create, without allocating.
Result<std::int64_t> storage_extent(DType dtype, const Shape& shape, const Strides& strides);
std::string to_string(const Shape& shape);  ///< "[2, 3]"

/// A host tensor: dtype, shape, strides, bytes. The bytes cover every element reachable through the strides,
/// gaps between rows (pads) included. Value semantics; never more than 2^40 bytes.
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled. Error when shape and strides disagree, overlap or overflow. Dimensions may be permuted
  /// (column-major), but each must step over all those with smaller strides.
  static Result<Tensor> create(DType dtype, Shape shape, Strides strides = {});

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t elements() const { return elements_; }  ///< logical elements
  std::int64_t extent() const { return extent_; }      ///< stored elements, pads included
  /// Row-major without gaps: logical element i lies at storage position i.
  bool contiguous() const { return contiguous_; }

  std::span<std::byte> bytes() { return {bytes_.data(), bytes_.size()}; }
  std::span<const std::byte> bytes() const { return {bytes_.data(), bytes_.size()}; }
  /// The stored elements as T; the caller vouches that sizeof(T) == size_of(dtype()).
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  /// Storage position of the logical (row-major) element `index`.
  std::int64_t offset_of(std::int64_t index) const;
  /// Logical element `index`, widened to fp64 (exact for every dtype).
  double value(std::int64_t index) const;
  /// Raw bits of logical element `index`, zero-extended.
  std::uint64_t bits(std::int64_t index) const;
  /// Rounds `value` to nearest even in dtype() (integers: to nearest, clamped) and stores it.
  void set_value(std::int64_t index, double value);
  void set_bits(std::int64_t index, std::uint64_t bits);

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  Strides strides_;
  std::int64_t elements_ = 0;
  std::int64_t extent_ = 0;
  bool contiguous_ = true;
  std::vector<std::byte> bytes_;
};

/// Stable 64-bit hash of dtype, shape and the logical elements' bits; strides and pads do not matter. The
/// same on every machine; for telling results apart, not against an adversary.
std::uint64_t content_hash(const Tensor& tensor);

}  // namespace parity
