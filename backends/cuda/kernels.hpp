#pragma once
// What the host side and the .cu files share: plain data and launch functions. Kept free of fmt, JSON and
// Eigen, so that nvcc parses little.
#include <cuda_runtime_api.h>

#include <cstdint>

namespace parity::cuda {

/// Element type of a matrix in device memory.
enum class Element : std::uint8_t { f32, f16, bf16 };

enum class Activation : std::uint8_t { identity, relu, leaky_relu_squared, sigmoid, tanh, exp };

/// A batch of matrices in device memory; element (b, r, c) lies at data + b * batch + r * row + c * col
/// (strides in elements; batch = 0 repeats one matrix). A transposition is a swap of `row` and `col`.
struct MatrixPointer {
  const void* data = nullptr;
  std::int64_t row = 0, col = 0, batch = 0;
  Element element = Element::f32;
};

/// What happens between the FP32 accumulator and memory, every operation rounded on its own, in this order:
///   t = alpha * acc                      (alpha exactly 1 rounds nothing)
///   t = t + beta * c                     (only with `c`; without it C is never read)
///   t = t + bias[column]                 (only with `bias`)
///   d = convert(activation(t))           (round to nearest even into d's element type)
struct Epilogue {
  float alpha = 1, beta = 0;
  MatrixPointer c;             ///< data == nullptr: no C
  const void* bias = nullptr;  ///< one value per column, or nullptr
  std::int64_t bias_stride = 1;
  Element bias_element = Element::f32;
  Activation activation = Activation::identity;
  void* d = nullptr;
  std::int64_t d_row = 0, d_col = 1, d_batch = 0;
  Element d_element = Element::f32;
};

/// D[b] = epilogue(A[b] * B[b]): A is m x k, B is k x n as read through their strides. m, n, batch >= 1; k >=
/// 0.
struct GemmArguments {
  int m = 0, n = 0, k = 0, batch = 0;
  MatrixPointer a, b;
  Epilogue epilogue;
};

// Every launch returns the launch's own error; it does not wait.

/// fp32 inputs; each result is one chain acc = fma(a[k], b[k], acc), k = 0, 1, ..., K-1, from +0.
cudaError_t launch_tiled_f32(const GemmArguments& arguments, int multiprocessors, cudaStream_t stream);

/// fp16 or bf16 inputs (both alike) by 16x16x16 tensor-core tiles, k in steps of 16 into one FP32
/// accumulator; the K tail is filled with zeros.
cudaError_t launch_wmma(const GemmArguments& arguments, int multiprocessors, cudaStream_t stream);
/// The same for fp16 inputs with an FP16 accumulator.
cudaError_t launch_wmma_f16(const GemmArguments& arguments, int multiprocessors, cudaStream_t stream);

/// The epilogue alone, over an FP32 or FP16 accumulator [batch, m, n] without gaps; acc == nullptr stands for
/// zeros.
cudaError_t launch_epilogue(const void* acc, Element element, int m, int n, int batch,
                            const Epilogue& epilogue, cudaStream_t stream);

/// Copies m x n elements per batch entry, bit for bit, between matrices of one element type.
cudaError_t launch_copy(const MatrixPointer& from, void* to, std::int64_t to_row, std::int64_t to_col,
                        std::int64_t to_batch, int m, int n, int batch, cudaStream_t stream);

/// cudaSuccess when this build holds code for the current device; cudaErrorNoKernelImageForDevice or the like
/// when it does not.
cudaError_t probe_kernel_image();

}  // namespace parity::cuda
