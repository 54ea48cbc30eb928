#pragma once
// From the FP32 accumulator to memory. Every product and sum is written with the intrinsics that the compiler
// never contracts into an fma, so that the bits are known whatever the flags.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/cuda/kernels.hpp"

namespace parity::cuda {

__device__ inline float load_element(const void* data, std::int64_t index, Element element) {
  switch (element) {
    case Element::f16:
      return __half2float(static_cast<const __half*>(data)[index]);
    case Element::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
    case Element::f32:
      break;
  }
  return static_cast<const float*>(data)[index];
}

__device__ inline void store_element(void* data, std::int64_t index, Element element, float value) {
  switch (element) {
    case Element::f16:
      static_cast<__half*>(data)[index] = __float2half_rn(value);
      return;
    case Element::bf16:
      static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(value);
      return;
    case Element::f32:
      break;
  }
  static_cast<float*>(data)[index] = value;
}

/// 1 / (1 + e^-x), written so that neither tail overflows: with e = exp(-|x|) in (0, 1] it is 1/(1+e) or
/// e/(1+e). Its error is derived where the path declares it (arithmetic_of_device.cpp).
__device__ inline float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return __fdiv_rn(x < 0.0f ? e : 1.0f, __fadd_rn(1.0f, e));
}

__device__ inline float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::relu:
      return x < 0.0f ? 0.0f : x;  // a NaN passes: max() would swallow it
    case Activation::leaky_relu_squared: {
      const float square = __fmul_rn(x, x);
      return x > 0.0f ? square : __fmul_rn(square, 0.25f);
    }
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return tanhf(x);
    case Activation::exp:
      return expf(x);
    case Activation::identity:
      break;
  }
  return x;
}

/// The whole epilogue of one element.
__device__ inline void finish(const Epilogue& epilogue, float acc, int batch, int row, int col) {
  float t = __fmul_rn(epilogue.alpha, acc);
  if (epilogue.c.data != nullptr) {
    const MatrixPointer& c = epilogue.c;
    const float value = load_element(c.data, batch * c.batch + row * c.row + col * c.col, c.element);
    t = __fadd_rn(t, __fmul_rn(epilogue.beta, value));
  }
  if (epilogue.bias != nullptr) {
    t = __fadd_rn(t, load_element(epilogue.bias, col * epilogue.bias_stride, epilogue.bias_element));
  }
  t = activate(epilogue.activation, t);
  store_element(epilogue.d, batch * epilogue.d_batch + row * epilogue.d_row + col * epilogue.d_col,
                epilogue.d_element, t);
}

}  // namespace parity::cuda
