#pragma once
// From a 32-bit sum to memory. In unsigned words, for which wrapping around is defined.
#include "backends/cuda/integer_gemm.hpp"

namespace parity::cuda {

__device__ inline void finish(const IntegerGemm& p, std::int32_t acc, int batch, int row, int col) {
  std::uint32_t sum = static_cast<std::uint32_t>(p.alpha) * static_cast<std::uint32_t>(acc);
  if (p.c.data != nullptr)
    sum += static_cast<std::uint32_t>(p.beta) * static_cast<std::uint32_t>(p.c(batch, row, col));
  p.d(batch, row, col) = static_cast<std::int32_t>(sum);
}

}  // namespace parity::cuda
