#include "backends/cuda/kernel_paths.hpp"
#include "backends/cuda/optimizer_kernels.hpp"

namespace parity::cuda {

namespace {

Result<PreparedCall> read_square_sum(CallReader& call) {
  const Extent x = call.input_extent(0);
  return call.prepare(SquareSum{x.elements(), x.cols, call.input(0, x), call.output_vector(0, 1)});
}

Result<PreparedCall> read_clip_factor(CallReader& call) {
  const std::int64_t parts = call.input_extent(0).elements();
  return call.prepare(ClipFactor{{1, 1, 1},
                                 parts,
                                 call.input_vector(0, parts),
                                 call.output_vector(0, 1),
                                 call.output_vector(1, 1),
                                 call.real("max_norm")});
}

Result<PreparedCall> read_adamw(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const Attributes& a = call.attributes();
  const double lr = a.real("lr"), beta1 = a.real("beta1", 0.9), beta2 = a.real("beta2", 0.95);
  AdamW p{};
  p.extent = extent;
  p.p = call.input(0, extent);
  p.g = call.input(1, extent);
  p.m = call.input(2, extent);
  p.v = call.input(3, extent);
  p.correction = call.input_vector(4, 2);
  p.p_next = call.output(0, extent);
  p.m_next = call.output(1, extent);
  p.v_next = call.output(2, extent);
  p.lr = static_cast<float>(lr);
  p.beta1 = static_cast<float>(beta1);
  p.one_minus_beta1 = static_cast<float>(1 - beta1);
  p.beta2 = static_cast<float>(beta2);
  p.one_minus_beta2 = static_cast<float>(1 - beta2);
  p.eps = call.real("eps", 1e-8);
  p.decay = static_cast<float>(1 - lr * a.real("weight_decay", 0));
  return call.prepare(p);
}

Result<PreparedCall> read_muon_momentum(CallReader& call) {
  const Extent extent = call.output_extent(0);
  return call.prepare(MuonMomentum{extent, call.input(0, extent), call.input(1, extent),
                                   call.output(0, extent), call.output(1, extent), call.real("mu", 0.95)});
}

Result<PreparedCall> read_frobenius_normalize(CallReader& call) {
  const Extent x = call.input_extent(0);
  return call.prepare(
      FrobeniusNormalize{x.elements(), x.cols, call.input(0, x), call.output(0, x), call.real("eps", 1e-7)});
}

}  // namespace

std::vector<Path> optimizer_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"square_sum", "one block of 1024 threads", whole_model, read_square_sum},
      {"clip_factor", "one thread", chain_model, read_clip_factor},
      {"adamw", "one thread an element", elementwise_model, read_adamw},
      {"muon_momentum", "one thread an element", elementwise_model, read_muon_momentum},
      {"frobenius_normalize", "one block of 1024 threads", whole_model, read_frobenius_normalize},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
