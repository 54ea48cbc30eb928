#include "references/op_table.hpp"

#include <algorithm>
#include <iterator>

namespace parity {
namespace {

using Ops = std::vector<std::unique_ptr<const Op>>;

void append(Ops& ops, Ops family) {
  std::ranges::move(family, std::back_inserter(ops));
}

}  // namespace

OpTable make_op_table() {
  Ops ops;
  ops.push_back(make_gemm_op());
  ops.push_back(make_linear_op());
  append(ops, make_elementwise_ops());
  append(ops, make_recurrent_ops());
  append(ops, make_norm_ops());
  append(ops, make_rope_ops());
  append(ops, make_reduction_ops());
  append(ops, make_attention_ops());
  append(ops, make_xsa_ops());
  append(ops, make_loss_ops());
  append(ops, make_embedding_ops());
  append(ops, make_optimizer_ops());
  append(ops, make_trace_ops());
  return OpTable(std::move(ops));
}

}  // namespace parity
