#include "backends/cuda/kernel_paths.hpp"
#include "backends/cuda/rope_kernels.hpp"

namespace parity::cuda {

namespace {

Result<PreparedCall> read_rope(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const std::int64_t seq = call.positive("seq"), head_dim = call.positive("head_dim"),
                     rotary = call.attributes().integer("rotary");
  call.require(rotary >= 0 && rotary % 2 == 0 && rotary <= head_dim && extent.cols % head_dim == 0,
               "rotary must be even and at most head_dim, and head_dim divide the columns");
  const std::string pairing = call.attributes().text("pairing", "half_split");
  call.require(pairing == "half_split" || pairing == "interleaved",
               "the CUDA kernel knows the pairings half_split and interleaved, not '" + pairing + "'");
  const Extent table{1, seq, rotary / 2};
  return call.prepare(Rope{extent, seq, head_dim, rotary,
                           pairing == "interleaved" ? Pairing::interleaved : Pairing::half_split,
                           call.attributes().integer("inverse") != 0, call.input(0, extent),
                           call.input(1, table), call.input(2, table), call.output(0, extent)});
}

Result<PreparedCall> read_head_scale(CallReader& call) {
  const Extent extent = call.output_extent(0);
  const std::int64_t heads = call.input_extent(1).elements();
  call.require(heads > 0 && extent.cols % heads == 0, "the gains do not divide the columns");
  const std::int64_t head_dim = heads > 0 ? extent.cols / heads : 0;
  return call.prepare(HeadScale{extent, head_dim, call.input(0, extent), call.input_vector(1, heads),
                                call.output(0, extent)});
}

Result<PreparedCall> read_head_scale_gain_gradient(CallReader& call) {
  const Extent x = call.input_extent(0);
  const std::int64_t heads = call.output_extent(0).elements();
  call.require(heads > 0 && x.cols % heads == 0, "the gains do not divide the columns");
  const std::int64_t head_dim = heads > 0 ? x.cols / heads : 0;
  return call.prepare(HeadScaleGainGradient{heads, x.rows, head_dim, call.input(0, x), call.input(1, x),
                                            call.output_vector(0, heads)});
}

}  // namespace

std::vector<Path> rope_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"rope", "one thread an element", elementwise_model, read_rope},
      {"head_scale", "one thread an element", elementwise_model, read_head_scale},
      {"head_scale_gain_gradient", "a block of 1024 threads a head", whole_model,
       read_head_scale_gain_gradient},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
