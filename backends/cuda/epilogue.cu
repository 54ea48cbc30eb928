// The kernels around a GEMM: the epilogue on its own and a strided copy.
#include "backends/cuda/epilogue.cuh"

namespace parity::cuda {
namespace {

constexpr int threads = 256;

unsigned blocks_for(std::int64_t elements) {
  const std::int64_t blocks = (elements + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 65536 ? blocks : 65536);  // the kernels stride over the rest
}

__device__ std::int64_t first_index() {
  return static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
}
__device__ std::int64_t index_step() {
  return static_cast<std::int64_t>(gridDim.x) * threads;
}

__global__ void epilogue_kernel(const void* acc, Element element, int m, int n, std::int64_t elements,
                                const __grid_constant__ Epilogue epilogue) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::int64_t row = i / n;
    finish(epilogue, acc == nullptr ? 0.0f : load_element(acc, i, element), static_cast<int>(row / m),
           static_cast<int>(row % m), static_cast<int>(i % n));
  }
}

template <class Word>
__global__ void copy_kernel(const Word* from, std::int64_t from_row, std::int64_t from_col,
                            std::int64_t from_batch, Word* to, std::int64_t to_row, std::int64_t to_col,
                            std::int64_t to_batch, int m, int n, std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::int64_t batch = i / n / m, row = i / n % m, col = i % n;
    to[batch * to_batch + row * to_row + col * to_col] =
        from[batch * from_batch + row * from_row + col * from_col];
  }
}

}  // namespace

cudaError_t launch_epilogue(const void* acc, Element element, int m, int n, int batch,
                            const Epilogue& epilogue, cudaStream_t stream) {
  const std::int64_t elements = static_cast<std::int64_t>(m) * n * batch;
  if (elements == 0) return cudaSuccess;
  epilogue_kernel<<<blocks_for(elements), threads, 0, stream>>>(acc, element, m, n, elements, epilogue);
  return cudaGetLastError();
}

cudaError_t launch_copy(const MatrixPointer& from, void* to, std::int64_t to_row, std::int64_t to_col,
                        std::int64_t to_batch, int m, int n, int batch, cudaStream_t stream) {
  const std::int64_t elements = static_cast<std::int64_t>(m) * n * batch;
  if (elements == 0) return cudaSuccess;
  if (from.element == Element::f32) {
    copy_kernel<<<blocks_for(elements), threads, 0, stream>>>(
        static_cast<const std::uint32_t*>(from.data), from.row, from.col, from.batch,
        static_cast<std::uint32_t*>(to), to_row, to_col, to_batch, m, n, elements);
  } else {
    copy_kernel<<<blocks_for(elements), threads, 0, stream>>>(
        static_cast<const std::uint16_t*>(from.data), from.row, from.col, from.batch,
        static_cast<std::uint16_t*>(to), to_row, to_col, to_batch, m, n, elements);
  }
  return cudaGetLastError();
}

cudaError_t probe_kernel_image() {
  cudaFuncAttributes attributes{};
  const cudaError_t error =
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(epilogue_kernel));
  if (error != cudaSuccess) cudaGetLastError();  // a missing image is an answer, not an error to be met later
  return error;
}

}  // namespace parity::cuda
