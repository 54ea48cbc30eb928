#pragma once
// How a factor's tile lies in shared memory, as nvcuda::wmma names it.
#include <mma.h>

namespace parity::cuda {

/// The layout of a matrix whose rows lie without gaps between neighbours, or of one whose columns do.
template <bool RowMajor>
struct LayoutOf {
  using type = nvcuda::wmma::row_major;
};
template <>
struct LayoutOf<false> {
  using type = nvcuda::wmma::col_major;
};

}  // namespace parity::cuda
