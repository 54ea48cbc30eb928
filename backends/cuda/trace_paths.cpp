#include <algorithm>

#include "backends/cuda/kernel_paths.hpp"
#include "backends/cuda/trace_kernels.hpp"
#include "harness/tensor/poison.hpp"
#include "harness/tensor/tensor_scan.hpp"

namespace parity::cuda {

namespace {

std::uint32_t unwritten_bits(DType dtype) {
  return static_cast<std::uint32_t>(poison_bits(dtype, Poison::unwritten));
}
std::uint32_t unwritten_bits(Element element) {
  return unwritten_bits(element == Element::f32   ? DType::f32
                        : element == Element::f16 ? DType::f16
                                                  : DType::bf16);
}

Result<PreparedCall> read_trace_scan(CallReader& call) {
  const Extent x = call.input_extent(0);
  const bool integers = call.input_type(0) == DType::i32;
  const MatrixPointer from = integers ? call.input_words(0, x) : call.any_input(0, x);
  return call.prepare(TraceScan{x.elements(), std::max<std::int64_t>(x.rows, 1),
                                std::max<std::int64_t>(x.cols, 1), from, integers,
                                integers ? unwritten_bits(DType::i32) : unwritten_bits(from.element),
                                call.output_words(0, scan_words)});
}

KernelPath scan_path(const char* path, DType input) {
  return {.op = "trace_scan",
          .summary = "one block of 1024 threads, as integers",
          .model = elementwise_model,
          .read = read_trace_scan,
          .path = path,
          .input = input,
          .factors = 1,
          .stores = {DType::i32}};
}

}  // namespace

std::vector<Path> trace_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {scan_path("direct_f32", DType::f32), scan_path("direct_f16", DType::f16),
                              scan_path("direct_bf16", DType::bf16), scan_path("direct_i32", DType::i32)};
  return paths_of(traits, table);
}

}  // namespace parity::cuda
