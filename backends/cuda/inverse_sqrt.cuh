#pragma once

namespace parity::cuda {

/// 1 / sqrt(x) by a correctly rounded root and reciprocal: within 1.00001 ULP (arithmetic_of_device.cpp).
static __device__ inline float inverse_sqrt(float x) {
  return __frcp_rn(__fsqrt_rn(x));
}

}  // namespace parity::cuda
