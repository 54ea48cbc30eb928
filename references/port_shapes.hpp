#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "harness/ladder/attributes.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// A shape read as a batch of matrices.
struct PortShape {
  std::int64_t batch = 1, rows = 0, cols = 0;
  bool batched = false;  ///< rank 3
};

/// Rank 2 or 3; the error names the op and the port.
Result<PortShape> port_shape(std::string_view op, std::string_view port, const Shape& shape);
/// op(shape): rows and columns exchanged when `transpose`.
PortShape transposed(PortShape shape, bool transpose);

/// Elements of `tensor` (rank 1 to 3) at the given indices along one axis; an empty list takes all.
/// Contiguous.
Tensor take(const Tensor& tensor, std::size_t axis, std::span<const std::int64_t> indices);

/// Every attribute must be known and of its type: names of integers, reals and texts.
Result<void> check_attributes(std::string_view op, const Attributes& attributes,
                              std::span<const std::string_view> integers,
                              std::span<const std::string_view> reals,
                              std::span<const std::string_view> texts);

}  // namespace parity
