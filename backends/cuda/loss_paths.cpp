#include "backends/cuda/kernel_paths.hpp"
#include "backends/cuda/loss_kernels.hpp"

namespace parity::cuda {

namespace {

Result<PreparedCall> read_softmax_cross_entropy(CallReader& call) {
  const Extent logits = call.input_extent(0);
  call.require(logits.cols > 0, "logits have no columns");
  return call.prepare(SoftmaxCrossEntropy{logits.rows, logits.cols, call.input(0, logits),
                                          call.indices(1, logits.rows), call.output_vector(0, logits.rows)});
}

Result<PreparedCall> read_softmax_cross_entropy_backward(CallReader& call) {
  const Extent logits = call.input_extent(0);
  call.require(logits.cols > 0, "logits have no columns");
  return call.prepare(SoftmaxCrossEntropyBackward{logits.rows, logits.cols, call.input(0, logits),
                                                  call.indices(1, logits.rows),
                                                  call.input_vector(2, logits.rows), call.output(0, logits)});
}

Result<PreparedCall> read_mean(CallReader& call) {
  const std::int64_t count = call.input_extent(0).elements();
  call.require(count > 0, "the mean of nothing");
  return call.prepare(Mean{count, call.input_vector(0, count), call.output_vector(0, 1)});
}

Result<PreparedCall> read_mean_backward(CallReader& call) {
  const std::int64_t count = call.positive("count");
  return call.prepare(MeanBackward{{1, 1, count}, call.input_vector(0, 1), call.output_vector(0, count)});
}

}  // namespace

std::vector<Path> loss_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"softmax_cross_entropy", "a block of 128 threads a row", row_model, read_softmax_cross_entropy},
      {"softmax_cross_entropy_backward", "a block of 128 threads a row", row_model,
       read_softmax_cross_entropy_backward},
      {"mean", "one block of 1024 threads", whole_model, read_mean},
      {"mean_backward", "one thread an element", elementwise_model, read_mean_backward},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
