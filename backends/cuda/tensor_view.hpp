#pragma once
// How the kernels see tensors in device memory. Plain data, kept free of fmt, JSON and Eigen (see
// kernels.hpp).
#include <cuda_runtime_api.h>

#include <cstdint>

namespace parity::cuda {

/// Sizes of a tensor read as a batch of matrices.
struct Extent {
  std::int64_t batch = 1, rows = 0, cols = 0;
  __host__ __device__ std::int64_t elements() const { return batch * rows * cols; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// A batch of matrices: element (b, r, c) lies at data + b * batch + r * row + c * col (strides in elements).
template <class T>
struct View {
  T* data = nullptr;
  std::int64_t batch = 0, row = 0, col = 1;
  __host__ __device__ T& operator()(std::int64_t b, std::int64_t r, std::int64_t c) const {
    return data[b * batch + r * row + c * col];
  }
  __host__ __device__ T& operator()(std::int64_t r, std::int64_t c) const { return data[r * row + c * col]; }
};

/// One value per index.
template <class T>
struct Vector {
  T* data = nullptr;
  std::int64_t stride = 1;
  __host__ __device__ T& operator[](std::int64_t i) const { return data[i * stride]; }
};

/// Lanes of a reduction over a row or a group of its columns, and over a whole tensor:
/// SummationOrder::strided.
inline constexpr int row_lanes = 128;
inline constexpr int whole_lanes = 1024;

using Input = View<const float>;
using Output = View<float>;
using InputVector = Vector<const float>;
using OutputVector = Vector<float>;
using Indices = Vector<const std::int32_t>;

}  // namespace parity::cuda
