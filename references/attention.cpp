// attention and attention_backward: causal, grouped-query, with a mask over keys (docs/operations.md).
//
// What takes no part is not there: queries and keys are gathered, masked keys are replaced by rows of zeros
// in their places (so that the order of a reduction over keys stays a device's), and results that would come
// from no key at all are replaced by zeros. A NaN in a later or a masked key therefore reaches nothing.
#include <algorithm>
#include <limits>

#include "references/attention_rows.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/row_collector.hpp"

namespace parity {
namespace {

using namespace attention;

/// Softmax does not depend on what is taken off, so that an error of the maximum is without effect but for
/// the roundings that grow with the distance from it: of the difference (u times the error) and of exp (its
/// accuracy's slope times the error), together well below 2^-20 of it for fp32. An error beyond 1/2 is kept:
/// results that underflow would then depend on it.
Value as_common_shift(Value maximum) {
  constexpr double second_order = 0x1p-20;
  for (std::size_t i = 0; i < maximum.hard.size(); ++i) {
    if (maximum.hard[i] > 0.5) continue;
    maximum.hard[i] *= second_order;
    maximum.systematic[i] *= second_order;
    maximum.mean[i] *= second_order;
    maximum.variance[i] *= second_order * second_order;
  }
  return maximum;
}

/// What a block's queries make of their keys.
struct Scores {
  Value k, v;            ///< [matrices, keys, dim]
  Value weights, total;  ///< exp(score - maximum) [matrices, rows, keys], zero for masked keys; its row sums
  std::vector<bool> has_key;  ///< by element of [matrices, rows, dim]; empty: all have one
};

Scores scores_of(Arithmetic& arithmetic, const Operands& in, Chunk chunk, const QueryBlock& block,
                 const Value& q) {
  const Layout& layout = in.layout;
  Scores out;
  out.k = take_keys(in, in.k, chunk, block.keys);
  out.v = take_keys(in, in.v, chunk, block.keys);
  const Value score =
      arithmetic.scale_add(layout.scale, arithmetic.matmul(q, false, out.k, true), 0, nullptr);
  std::vector<bool> mask;
  const Index rows = layout.group * block.count;
  if (!in.valid.empty()) {
    mask = mask_of(layout, chunk, rows, block.keys,
                   [&](Index b, Index, Index key) { return in.takes_part(b, key); });
    out.has_key = mask_of(layout, chunk, rows, layout.dim, [&](Index b, Index, Index) {
      for (Index j = 0; j < block.keys; ++j)
        if (in.takes_part(b, j)) return true;
      return false;
    });
  }
  const auto masked = [&](Value x, double instead) {
    if (mask.empty()) return x;
    return select(mask, x, filled(x.batch, x.rows, x.cols, instead));
  };
  const double lowest = -std::numeric_limits<double>::infinity();
  const Value maximum = as_common_shift(arithmetic.row_max(masked(score, lowest)));
  out.weights = masked(arithmetic.apply(Function::exp, difference(arithmetic, score, maximum)), 0);
  out.total = arithmetic.row_dot(out.weights, nullptr);
  return out;
}

/// `x` [matrices, rows, cols] with zeros in the rows of queries that have no key.
Value zero_without_key(const Scores& scores, Value x) {
  if (scores.has_key.empty()) return x;
  const auto dim = static_cast<std::size_t>(scores.v.cols);
  std::vector<bool> choose(static_cast<std::size_t>(x.size()));
  for (std::size_t i = 0; i < choose.size(); ++i)
    choose[i] = scores.has_key[i / static_cast<std::size_t>(x.cols) * dim];
  return select(choose, x, filled(x.batch, x.rows, x.cols, 0));
}

Result<std::vector<Value>> evaluate_attention(Arithmetic& arithmetic, const Attributes& attributes,
                                              const PortTensors& inputs) {
  const auto in =
      load_operands(arithmetic, attributes, *inputs[0], *inputs[1], *inputs[2], inputs[3], nullptr);
  if (!in) return tl::unexpected(in.error());
  const Layout& layout = in->layout;
  RowCollector o;
  for (const Chunk chunk : chunks(layout)) {
    for (const QueryBlock& block : query_blocks(layout)) {
      const Value q = take_queries(layout, in->q, chunk, block.first, block.count);
      const Scores scores = scores_of(arithmetic, *in, chunk, block, q);
      const Value sums = arithmetic.matmul(scores.weights, false, scores.v, false);
      o.add(zero_without_key(scores, arithmetic.div(sums, scores.total)),
            query_rows(layout, chunk, block.first, block.count));
    }
  }
  return std::vector<Value>{o.finish(inputs[0]->shape()[0], inputs[0]->shape()[1], layout.dim)};
}

/// The probabilities P and dS of a chunk's blocks, kept to be read by key.
class ByKey {
 public:
  ByKey(const Layout& layout, Chunk chunk) : layout_(layout), chunk_(chunk) {}

  void add(const QueryBlock& block, Value x) {
    for (Index t = block.first; t < block.first + block.count; ++t) block_of_.push_back({block, offset_});
    offset_ += x.size();
    parts_.push_back(reshape(std::move(x), 1, x.size(), 1));
  }
  void finish() { all_ = concat_rows(parts_), parts_.clear(); }

  /// Queries first_query .. seq - 1 against keys first .. first + count - 1: [matrices, group * queries,
  /// count].
  Value take(Index first_query, Index first, Index count) const {
    std::vector<Index> places;
    const Index queries = layout_.seq - first_query;
    for (Index matrix = 0; matrix < matrices(layout_, chunk_); ++matrix) {
      for (Index g = 0; g < layout_.group; ++g) {
        for (Index t = first_query; t < layout_.seq; ++t) {
          const auto& [block, offset] = block_of_[static_cast<std::size_t>(t)];
          const Index row = (matrix * layout_.group + g) * block.count + (t - block.first);
          for (Index j = first; j < first + count; ++j) places.push_back(offset + row * block.keys + j);
        }
      }
    }
    return reshape(take_rows(all_, places), matrices(layout_, chunk_), layout_.group * queries, count);
  }

 private:
  struct Place {
    QueryBlock block;
    Index offset;
  };
  Layout layout_;
  Chunk chunk_;
  std::vector<Place> block_of_;  ///< by query
  std::vector<Value> parts_;
  Value all_;
  Index offset_ = 0;
};

Result<std::vector<Value>> evaluate_attention_backward(Arithmetic& arithmetic, const Attributes& attributes,
                                                       const PortTensors& inputs) {
  const auto in =
      load_operands(arithmetic, attributes, *inputs[0], *inputs[1], *inputs[2], inputs[3], inputs[4]);
  if (!in) return tl::unexpected(in.error());
  const Layout& layout = in->layout;
  RowCollector dq, dk, dv;
  for (const Chunk chunk : chunks(layout)) {
    ByKey p(layout, chunk), ds(layout, chunk);
    for (const QueryBlock& block : query_blocks(layout)) {
      const Value q = take_queries(layout, in->q, chunk, block.first, block.count);
      const Value d_o = take_queries(layout, in->d_o, chunk, block.first, block.count);
      const Scores scores = scores_of(arithmetic, *in, chunk, block, q);
      const Value probabilities = arithmetic.div(scores.weights, scores.total);
      const Value dp = arithmetic.matmul(d_o, false, scores.v, true);
      const Value mean = arithmetic.row_dot(probabilities, &dp);
      const Value d_scores = arithmetic.mul(probabilities, difference(arithmetic, dp, mean));
      const Value d_query =
          arithmetic.scale_add(layout.scale, arithmetic.matmul(d_scores, false, scores.k, false), 0, nullptr);
      dq.add(zero_without_key(scores, d_query), query_rows(layout, chunk, block.first, block.count));
      p.add(block, probabilities);
      ds.add(block, d_scores);
    }
    p.finish();
    ds.finish();
    // Each key's own queries: those at its time and later when causal, else all. A query without any key is
    // none of a valid key's queries, and what a masked key gathers is dropped.
    const Index count = layout.causal ? 1 : layout.seq;
    for (Index first = 0; first < layout.seq; first += count) {
      const Index queries = layout.seq - first;
      const Value q = take_queries(layout, in->q, chunk, first, queries);
      const Value d_o = take_queries(layout, in->d_o, chunk, first, queries);
      const auto mask = mask_of(layout, chunk, count, layout.dim,
                                [&](Index b, Index j, Index) { return in->takes_part(b, first + j); });
      const Value zeros = filled(matrices(layout, chunk), count, layout.dim, 0);
      const Value d_key = arithmetic.scale_add(
          layout.scale, arithmetic.matmul(ds.take(first, first, count), true, q, false), 0, nullptr);
      const Value d_value = arithmetic.matmul(p.take(first, first, count), true, d_o, false);
      dk.add(select(mask, d_key, zeros), key_rows(layout, chunk, first, count));
      dv.add(select(mask, d_value, zeros), key_rows(layout, chunk, first, count));
    }
  }
  const Index rows = inputs[0]->shape()[0];
  return std::vector<Value>{dq.finish(rows, inputs[0]->shape()[1], layout.dim),
                            dk.finish(rows, inputs[1]->shape()[1], layout.dim),
                            dv.finish(rows, inputs[2]->shape()[1], layout.dim)};
}

std::vector<AttributeRule> attention_rules() {
  constexpr double many = 0x1p30;
  return {{"heads", Index{1}, true, 1, many},
          {"kv_heads", Index{1}, true, 1, many},
          {"seq", Index{1}, true, 1, many},
          {"causal", Index{1}, false, 0, 1},
          {"scale", 1.0, true, -1e30, 1e30}};
}

/// Products of one query and head with a key (two of them are two multiply-adds each) for an element of O.
double flops_per_element(const OpCall& call, const Program& program, double products) {
  const Layout layout = layout_of(call.attributes, program.spec(call.inputs[0]).shape);
  const double keys =
      layout.causal ? static_cast<double>(layout.seq + 1) / 2 : static_cast<double>(layout.seq);
  // Beside the products, about five operations a score: scale, maximum, difference, exp, sum.
  return keys * (2 * products + 5 / static_cast<double>(std::max<Index>(layout.dim, 1)));
}

Index reduction_length(const OpCall& call, const Program& program) {
  const Layout layout = layout_of(call.attributes, program.spec(call.inputs[0]).shape);
  return std::max(layout.dim, layout.seq * layout.group);
}

/// Tokens of one batch entry are `seq` rows; a head's columns lie together. Keys may change places where no
/// mask orders them; zeros in V take keys out of the second sum only.
std::vector<Symmetry> attention_symmetries(const Attributes& attributes, PortShapes in, bool backward) {
  const Layout layout = layout_of(attributes, *in[0]);
  const Index dim = layout.dim, group = layout.group, seq = layout.seq;
  std::vector<PortAxis> entries{{0, 1, 0, seq}, {1, 1, 0, seq}, {2, 1, 0, seq}, {3, 0, 0, seq}};
  std::vector<PortAxis> heads{{0, 0, 0, dim * group}, {1, 0, 0, dim}, {2, 0, 0, dim}};
  if (!backward) {
    std::vector<Symmetry> found{
        {Symmetry::Kind::reduction, "columns of a head", {{0, 0, dim}, {1, 0, dim}}, {}},
        {Symmetry::Kind::batch, "entries", entries, {{0, 1, 0, seq}}},
        {Symmetry::Kind::position, "heads", heads, {{0, 0, 0, dim * group}}}};
    if (!layout.causal)
      found.push_back(
          {Symmetry::Kind::reduction, "keys", {{1, 1, seq}, {2, 1, seq}, {3, 0, seq}}, {}, false, 1});
    return found;
  }
  entries.push_back({4, 1, 0, seq});
  heads.push_back({4, 0, 0, dim * group});
  std::vector<Symmetry> found{
      {Symmetry::Kind::reduction,
       "columns of a head",
       {{0, 0, dim}, {1, 0, dim}},
       {{0, 0, dim}, {1, 0, dim}}},
      {Symmetry::Kind::batch, "entries", entries, {{0, 1, 0, seq}, {1, 1, 0, seq}, {2, 1, 0, seq}}},
      {Symmetry::Kind::position, "heads", heads, {{0, 0, 0, dim * group}, {1, 0, 0, dim}, {2, 0, 0, dim}}}};
  if (!layout.causal) {
    found.push_back({Symmetry::Kind::reduction,
                     "keys",
                     {{1, 1, seq}, {2, 1, seq}, {3, 0, seq}},
                     {{1, 1, seq}, {2, 1, seq}}});
    found.push_back({Symmetry::Kind::reduction, "queries", {{0, 1, seq}, {4, 1, seq}}, {{0, 1, seq}}});
  }
  return found;
}

Result<void> attention_gradient(const OpCall& call, GradientBuilder& builder) {
  const TensorId d_o = builder.output_gradient(0);
  if (d_o == no_tensor || !(builder.wants(0) || builder.wants(1) || builder.wants(2))) return {};
  OpCall backward{"attention_backward", call.attributes, call.inputs, {}};
  backward.inputs.push_back(d_o);
  for (std::size_t port = 0; port < 3; ++port) backward.outputs.push_back(builder.input_gradient(port));
  builder.emit(std::move(backward));
  return {};
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_attention_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(make_op({
      .name = "attention",
      .summary = "O = softmax(scale Q K^T over the keys that take part) V, by head",
      .inputs = {{"Q"}, {"K"}, {"V"}, {"valid", true}},
      .outputs = {{"O"}},
      .attributes = attention_rules(),
      .infer = [](const Attributes& attributes, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = check_ports(attributes, *in[0], *in[1], *in[2], in[3]); !ok)
          return tl::unexpected(ok.error());
        return std::vector<Shape>{*in[0]};
      },
      .evaluate = evaluate_attention,
      .gradient = attention_gradient,
      .flops_per_element = [](const OpCall& c, const Program& p) { return flops_per_element(c, p, 2); },
      .reduction_length = reduction_length,
      .symmetries = [](const Attributes& a, PortShapes in) { return attention_symmetries(a, in, false); },
  }));
  ops.push_back(make_op({
      .name = "attention_backward",
      .summary = "dQ, dK, dV of attention: dS = P (dP - rowsum(P dP)), dQ = scale dS K, dK = scale dS^T Q, "
                 "dV = P^T dO",
      .inputs = {{"Q"}, {"K"}, {"V"}, {"valid", true}, {"dO"}},
      .outputs = {{"dQ"}, {"dK"}, {"dV"}},
      .attributes = attention_rules(),
      .infer = [](const Attributes& attributes, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = check_ports(attributes, *in[0], *in[1], *in[2], in[3]); !ok)
          return tl::unexpected(ok.error());
        if (auto ok = expect_shape("dO", *in[4], *in[0]); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{*in[0], *in[1], *in[2]};
      },
      .evaluate = evaluate_attention_backward,
      .gradient = {},
      .flops_per_element = [](const OpCall& c, const Program& p) { return flops_per_element(c, p, 5); },
      .reduction_length = reduction_length,
      .symmetries = [](const Attributes& a, PortShapes in) { return attention_symmetries(a, in, true); },
  }));
  return ops;
}

}  // namespace parity
