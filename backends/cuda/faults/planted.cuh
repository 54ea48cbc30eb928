#pragma once
// Which fault of the catalogue the kernels of a faulty source have. The sources are copies of the production
// ones, made when the project is built (harness/faults/mutate_main.cpp): each of their faults asks planted().
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace parity::cuda {

static __constant__ int planted_number;  // each source its own

static __device__ __forceinline__ bool planted(int number) {
  return planted_number == number;
}

}  // namespace parity::cuda
