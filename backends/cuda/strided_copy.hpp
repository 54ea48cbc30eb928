#pragma once
#include <cstddef>
#include <vector>

#include "harness/tensor/tensor.hpp"

namespace parity::cuda {

/// One copy of `height` rows of `width` bytes, as cudaMemcpy2D takes it; offsets and pitches in bytes.
struct RowsCopy {
  std::size_t from = 0, to = 0;
  std::size_t width = 0, height = 1;
  std::size_t from_pitch = 0, to_pitch = 0;
};

/// The copies that bring every element of a tensor of `shape` from one layout to another, and touch nothing
/// between the elements. Strides in elements; `size` bytes an element. Nothing for an empty tensor.
std::vector<RowsCopy> plan_copies(const Shape& shape, const Strides& from, const Strides& to,
                                  std::size_t size);

}  // namespace parity::cuda
