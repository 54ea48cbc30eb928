#include <algorithm>

#include "backends/cuda/embedding_kernels.hpp"
#include "backends/cuda/kernel_paths.hpp"

namespace parity::cuda {

namespace {

Result<PreparedCall> read_embedding(CallReader& call) {
  const Extent table = call.input_extent(0), y = call.output_extent(0);
  return call.prepare(
      Embedding{y, table.rows, call.input(0, table), call.indices(1, y.rows), call.output(0, y)});
}

Result<PreparedCall> read_embedding_backward(CallReader& call) {
  const Extent dy = call.input_extent(1), table = call.output_extent(0);
  return call.prepare(EmbeddingBackward{table, dy.rows, call.indices(0, dy.rows),
                                        call.input(1, {1, dy.rows, table.cols}), call.output(0, table)});
}

Result<PreparedCall> read_embedding_backward_atomic(CallReader& call) {
  const Extent dy = call.input_extent(1), table = call.output_extent(0);
  return call.prepare(EmbeddingBackwardAtomic{{1, dy.rows, table.cols},
                                              table.rows,
                                              call.indices(0, dy.rows),
                                              call.input(1, {1, dy.rows, table.cols}),
                                              call.output(0, table)});
}

Result<PreparedCall> read_gradient_reduction(CallReader& call) {
  const Extent x = call.input_extent(0);
  return call.prepare(
      GradientReduction{{1, 1, x.cols}, x.rows, call.input(0, x), call.output_vector(0, x.cols)});
}

Result<PreparedCall> read_gradient_reduction_atomic(CallReader& call) {
  constexpr std::int64_t rows_a_part = 16;
  const Extent x = call.input_extent(0);
  const std::int64_t parts = (x.rows + rows_a_part - 1) / rows_a_part;
  return call.prepare(
      GradientReductionAtomic{{1, parts, x.cols}, x.rows, call.input(0, x), call.output_vector(0, x.cols)});
}

}  // namespace

std::vector<Path> embedding_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"embedding", "one thread an element, a copy", elementwise_model, read_embedding},
      {"embedding_backward", "one thread an element of the table, rows in sequence", chain_model,
       read_embedding_backward},
      {"embedding_backward", "one thread an element of dY, atomicAdd", atomic_model,
       read_embedding_backward_atomic, "atomic_f32"},
      {"gradient_reduction", "one thread a column, rows in sequence", chain_model, read_gradient_reduction},
      {"gradient_reduction", "partial sums over 16 rows, atomicAdd", atomic_model,
       read_gradient_reduction_atomic, "atomic_f32"},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
