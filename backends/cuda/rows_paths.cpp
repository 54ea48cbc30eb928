#include "backends/cuda/kernel_paths.hpp"
#include "backends/cuda/rows_kernels.hpp"

namespace parity::cuda {

namespace {

/// Rows, and the groups of columns that are normalised on their own.
struct Groups {
  Extent extent, statistics;
  std::int64_t size = 0;
};
Groups groups_of(CallReader& call, std::size_t port) {
  Groups g;
  g.extent = call.input_extent(port);
  const std::int64_t group = call.attributes().integer("group", 0);
  call.require(group >= 0 && (group == 0 || g.extent.cols % group == 0),
               "the columns are no multiple of the group");
  g.size = group > 0 ? group : g.extent.cols;
  g.statistics = {1, g.extent.rows, group > 0 ? g.extent.cols / group : 1};
  return g;
}

Result<PreparedCall> read_rms_norm(CallReader& call) {
  const Groups g = groups_of(call, 0);
  RmsNorm p{g.extent.rows,
            g.statistics.cols,
            g.size,
            call.input(0, g.extent),
            {},
            call.output(0, g.extent),
            call.output(1, g.statistics),
            call.real("eps")};
  if (call.has_input(1)) p.weight = call.input_vector(1, g.size);
  return call.prepare(p);
}

Result<PreparedCall> read_rms_norm_backward(CallReader& call) {
  const Groups g = groups_of(call, 0);
  RmsNormBackward p{g.extent.rows,
                    g.statistics.cols,
                    g.size,
                    call.input(0, g.extent),
                    {},
                    call.input(2, g.statistics),
                    call.input(3, g.extent),
                    call.output(0, g.extent)};
  if (call.has_input(1)) p.weight = call.input_vector(1, g.size);
  return call.prepare(p);
}

Result<PreparedCall> read_rms_norm_weight_gradient(CallReader& call) {
  const Extent x = call.input_extent(0);
  return call.prepare(RmsNormWeightGradient{{1, 1, x.cols},
                                            x.rows,
                                            call.input(0, x),
                                            call.input_vector(1, x.rows),
                                            call.input(2, x),
                                            call.output_vector(0, x.cols)});
}

struct Heads {
  std::int64_t heads, kv_heads, size;
  Extent tokens, kv_tokens;
};
Heads heads_of(CallReader& call) {
  Heads h{call.positive("heads"), call.positive("kv_heads"), 0, call.input_extent(0), {}};
  call.require(h.tokens.cols % h.heads == 0 && h.heads % h.kv_heads == 0,
               "heads do not divide the columns, or kv_heads the heads");
  h.size = h.tokens.cols / h.heads;
  h.kv_tokens = {1, h.tokens.rows, h.kv_heads * h.size};
  return h;
}

Result<PreparedCall> read_xsa(CallReader& call) {
  const Heads h = heads_of(call);
  return call.prepare(Xsa{h.tokens.rows, h.heads, h.heads / h.kv_heads, h.size, call.input(0, h.tokens),
                          call.input(1, h.kv_tokens), call.output(0, h.tokens)});
}

Result<PreparedCall> read_xsa_backward(CallReader& call) {
  const Heads h = heads_of(call);
  return call.prepare(XsaBackward{h.tokens.rows, h.kv_heads, h.heads / h.kv_heads, h.size,
                                  call.input(0, h.tokens), call.input(1, h.kv_tokens),
                                  call.input(2, h.tokens), call.output(0, h.tokens),
                                  call.output(1, h.kv_tokens)});
}

}  // namespace

std::vector<Path> rows_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"rms_norm", "a block of 128 threads a row or group", row_model, read_rms_norm},
      {"rms_norm_backward", "a block of 128 threads a row or group", row_model, read_rms_norm_backward},
      {"rms_norm_weight_gradient", "one thread a column", chain_model, read_rms_norm_weight_gradient},
      {"xsa", "a block of 128 threads a row and head", row_model, read_xsa},
      {"xsa_backward", "a block of 128 threads a row and kv head", row_model, read_xsa_backward},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
