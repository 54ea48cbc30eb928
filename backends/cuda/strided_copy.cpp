#include "backends/cuda/strided_copy.hpp"

#include <algorithm>

namespace parity::cuda {

namespace {

struct Dimension {
  std::size_t size, from, to;  ///< strides in bytes
};

/// Dimensions of more than one element, outermost first; neighbours that are one run in both layouts merged.
std::vector<Dimension> dimensions_of(const Shape& shape, const Strides& from, const Strides& to,
                                     std::size_t size) {
  std::vector<Dimension> dimensions;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const Dimension inner{static_cast<std::size_t>(shape[d]), static_cast<std::size_t>(from[d]) * size,
                          static_cast<std::size_t>(to[d]) * size};
    if (!dimensions.empty()) {
      Dimension& outer = dimensions.back();
      if (outer.from == inner.size * inner.from && outer.to == inner.size * inner.to) {
        outer = {outer.size * inner.size, inner.from, inner.to};
        continue;
      }
    }
    dimensions.push_back(inner);
  }
  return dimensions;
}

}  // namespace

std::vector<RowsCopy> plan_copies(const Shape& shape, const Strides& from, const Strides& to,
                                  std::size_t size) {
  if (std::ranges::find(shape, 0) != shape.end()) return {};
  std::vector<Dimension> dimensions = dimensions_of(shape, from, to, size);
  RowsCopy row;
  row.width = size;
  if (!dimensions.empty() && dimensions.back().from == size && dimensions.back().to == size) {
    row.width = dimensions.back().size * size;
    dimensions.pop_back();
  }
  row.from_pitch = row.to_pitch = row.width;
  if (!dimensions.empty()) {
    row.height = dimensions.back().size;
    row.from_pitch = dimensions.back().from;
    row.to_pitch = dimensions.back().to;
    dimensions.pop_back();
  }
  std::vector<RowsCopy> copies{row};
  for (; !dimensions.empty(); dimensions.pop_back()) {
    const Dimension d = dimensions.back();
    const std::vector<RowsCopy> inner = copies;
    for (std::size_t i = 1; i < d.size; ++i)
      for (RowsCopy copy : inner) {
        copy.from += i * d.from;
        copy.to += i * d.to;
        copies.push_back(copy);
      }
  }
  return copies;
}

}  // namespace parity::cuda
