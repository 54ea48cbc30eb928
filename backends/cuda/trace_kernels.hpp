#pragma once
// What bisecting looks at: docs/operations.md, "Trace".
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// s = {NaNs, infinities, first of these, unwritten, bits of max |x|, hash}: one block of `whole_lanes`
/// threads, x as integers.
struct TraceScan {
  std::int64_t count, rows_of_matrix, cols;  ///< elements in all, and sizes of one matrix
  MatrixPointer x;                           ///< its element says nothing of integers
  bool integers;                             ///< int32
  std::uint32_t unwritten;                   ///< bits of an element that was never written
  Vector<std::int32_t> s;
};

cudaError_t launch(const TraceScan& p, cudaStream_t stream);

}  // namespace parity::cuda
