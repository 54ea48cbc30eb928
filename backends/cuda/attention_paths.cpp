#include <fmt/format.h>

#include "backends/cuda/attention_kernels.hpp"
#include "backends/cuda/kernel_paths.hpp"

namespace parity::cuda {

namespace {

struct Ports {
  AttentionInputs in;
  Extent tokens, kv_tokens;
};

Ports read_ports(CallReader& call, std::int64_t most_keys) {
  Ports p{};
  AttentionInputs& in = p.in;
  p.tokens = call.input_extent(0);
  in.count = p.tokens.rows;
  in.heads = call.positive("heads");
  in.kv_heads = call.positive("kv_heads");
  in.seq = call.positive("seq");
  call.require(p.tokens.cols % in.heads == 0 && in.heads % in.kv_heads == 0 && in.count % in.seq == 0,
               "heads do not divide the columns, kv_heads the heads or seq the rows");
  call.require(in.seq <= most_keys,
               fmt::format("the scores of a query lie in shared memory, which has room for {} keys, not {}",
                           most_keys, in.seq));
  in.size = p.tokens.cols / in.heads;
  in.causal = call.attributes().integer("causal", 1) != 0;
  in.scale = call.real("scale", 1);
  p.kv_tokens = {1, in.count, in.kv_heads * in.size};
  in.q = call.input(0, p.tokens);
  in.k = call.input(1, p.kv_tokens);
  in.v = call.input(2, p.kv_tokens);
  if (call.has_input(3)) in.valid = call.indices(3, in.count);
  return p;
}

Result<PreparedCall> read_attention(CallReader& call) {
  const Ports ports = read_ports(call, attention_keys);
  return call.prepare(Attention{ports.in, call.output(0, ports.tokens)});
}

Result<PreparedCall> read_attention_backward(CallReader& call) {
  const Ports ports = read_ports(call, attention_backward_keys);
  call.require(ports.in.size <= attention_backward_head_dim,
               fmt::format("the gradients of a key lie in shared memory, which has room for heads of {} "
                           "columns, not {}",
                           attention_backward_head_dim, ports.in.size));
  AttentionBackward p{ports.in, call.input(4, ports.tokens), call.output(0, ports.tokens),
                      call.output(1, ports.kv_tokens), call.output(2, ports.kv_tokens)};
  p.statistics = call.scratch(3 * ports.in.count * ports.in.heads, "the statistics of attention_backward");
  return call.prepare(p);
}

}  // namespace

std::vector<Path> attention_paths(const DeviceTraits& traits) {
  const KernelPath table[] = {
      {"attention", "a block of 128 threads a query and head, up to 8192 keys; chains in sequence",
       chain_model, read_attention},
      {"attention_backward",
       "a block of 128 threads a query and head, then a key and kv head, up to 4096 keys; no atomics",
       chain_model, read_attention_backward},
  };
  return paths_of(traits, table);
}

}  // namespace parity::cuda
