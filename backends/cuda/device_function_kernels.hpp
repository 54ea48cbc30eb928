#pragma once
// What `parity probe` asks a device about: one function an element; the numbers of `function` are those of
// harness/ladder/device_function.hpp.
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

struct DeviceFunctionCall {
  Extent extent;
  Input a, b, c;  ///< b and c: null where the function does not read them
  Output r;
  int function;
};
/// The same in fp16; elements lie as MatrixPointer says.
struct HalfFunctionCall {
  Extent extent;
  MatrixPointer a, b, c;
  void* r = nullptr;
  std::int64_t r_batch = 0, r_row = 0, r_col = 1;
  int function;
};

cudaError_t launch(const DeviceFunctionCall& p, cudaStream_t stream);
cudaError_t launch(const HalfFunctionCall& p, cudaStream_t stream);

}  // namespace parity::cuda
