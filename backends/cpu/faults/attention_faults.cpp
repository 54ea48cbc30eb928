// Faults of rotation, attention and the normalisation of heads (rung 6), each on the case that shows it.
#include <cmath>
#include <limits>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity::planted {
namespace {

/// An attention kernel in plain fp32, as somebody writes it first; the defaults are right.
struct AttentionKernel {
  Index ahead = 0;  ///< a query at t sees keys up to t + ahead
  float masked_score = -std::numeric_limits<float>::infinity();
  bool adds_mask = false;     ///< score + masked_score: a NaN in a masked key stays
  bool reads_masked = false;  ///< adds weight times v of masked keys too: zero times what is there

  Values operator()(const Op&, Arithmetic&, const Attributes& attributes, const PortTensors& in) const {
    const Index heads = attributes.integer("heads"), kv_heads = attributes.integer("kv_heads");
    const Index seq = attributes.integer("seq"), rows = in[0]->shape()[0], dim = in[0]->shape()[1] / heads;
    const bool causal = attributes.integer("causal") != 0;
    const auto scale = static_cast<float>(attributes.real("scale"));
    const auto at = [](const Tensor* x, Index row, Index col) {
      return static_cast<float>(x->value(row * x->shape()[1] + col));
    };
    Value o = make_value(1, rows, heads * dim);
    for (Index row = 0; row < rows; ++row) {
      const Index first = row / seq * seq, t = row - first;
      const Index keys = causal ? std::clamp<Index>(t + ahead + 1, 0, seq) : seq;
      for (Index head = 0; head < heads; ++head) {
        const Index q0 = head * dim, kv0 = head / (heads / kv_heads) * dim;
        const auto takes_part = [&](Index j) { return in[3] == nullptr || in[3]->value(first + j) != 0; };
        std::vector<float> score(static_cast<std::size_t>(keys));
        float largest = -std::numeric_limits<float>::infinity();
        for (Index j = 0; j < keys; ++j) {
          float dot = 0;
          for (Index i = 0; i < dim; ++i)
            dot = std::fma(at(in[0], row, q0 + i), at(in[1], first + j, kv0 + i), dot);
          score[static_cast<std::size_t>(j)] = takes_part(j) ? scale * dot
                                               : adds_mask   ? scale * dot + masked_score
                                                             : masked_score;
          const float here = score[static_cast<std::size_t>(j)];
          if (here > largest || std::isnan(here)) largest = here;  // a NaN stays
        }
        if (largest == -std::numeric_limits<float>::infinity()) continue;  // no key at all: zeros
        float total = 0;
        std::vector<float> sum(static_cast<std::size_t>(dim));
        for (Index j = 0; j < keys; ++j) {
          const float weight = std::exp(score[static_cast<std::size_t>(j)] - largest);
          total += weight;
          if (weight == 0 && !takes_part(j) && !reads_masked) continue;
          for (Index i = 0; i < dim; ++i) {
            float& s = sum[static_cast<std::size_t>(i)];
            s = std::fma(weight, at(in[2], first + j, kv0 + i), s);
          }
        }
        for (Index i = 0; i < dim; ++i)
          o.v[static_cast<std::size_t>(row * heads * dim + q0 + i)] =
              static_cast<double>(sum[static_cast<std::size_t>(i)] / total);
      }
    }
    return std::vector{o};
  }
};

/// Column blocks of `x`, one a head, in the order of `heads`.
Tensor with_heads(const Tensor& x, const std::vector<Index>& heads) {
  Tensor out = x;
  const Index cols = x.shape()[1], dim = cols / static_cast<Index>(heads.size());
  for (Index i = 0; i < x.elements(); ++i)
    out.set_bits(i,
                 x.bits(i / cols * cols + heads[static_cast<std::size_t>(i % cols / dim)] * dim + i % dim));
  return out;
}

/// kv head = head % kv_heads, where head / group is right: the reference with the heads of its ports `query`
/// sorted so that those that share a kv head stand together, and its outputs `result` sorted back.
Evaluation heads_by_remainder(std::vector<std::size_t> query, std::size_t result) {
  return
      [=](const Op& op, Arithmetic& device, const Attributes& attributes, const PortTensors& in) -> Values {
        const Index heads = attributes.integer("heads"), kv_heads = attributes.integer("kv_heads");
        std::vector<Index> order;
        for (Index kv = 0; kv < kv_heads; ++kv)
          for (Index head = kv; head < heads; head += kv_heads) order.push_back(head);
        PortTensors ports = in;
        std::vector<Tensor> sorted;
        for (const std::size_t port : query) sorted.push_back(with_heads(*in[port], order));
        for (std::size_t i = 0; i < query.size(); ++i) ports[query[i]] = &sorted[i];
        auto values = op.evaluate(device, attributes, ports);
        if (!values) return values;
        const Value from = (*values)[result];
        const Index dim = from.cols / heads;
        for (Index row = 0; row < from.rows; ++row)
          for (Index place = 0; place < heads; ++place)
            std::copy_n(
                from.v.begin() + row * from.cols + place * dim, dim,
                (*values)[result].v.begin() + row * from.cols + order[static_cast<std::size_t>(place)] * dim);
        return values;
      };
}

/// The tables read at column i of the rotated pair (i, i + 1) where i / 2 is right.
Values table_by_column(const Op& op, Arithmetic& device, const Attributes& attributes,
                       const PortTensors& in) {
  if (attributes.text("pairing") != "interleaved") return op.evaluate(device, attributes, in);
  std::vector<Tensor> tables{*in[1], *in[2]};
  const Index half = in[1]->shape()[1];
  for (std::size_t table = 0; table < 2; ++table)
    for (Index i = 0; i < in[1]->elements(); ++i) {
      const Index read = i / half * half + 2 * (i % half);  // past the end there is nothing
      tables[table].set_value(i, read < in[1]->elements() ? in[table + 1]->value(read) : 0);
    }
  return op.evaluate(device, attributes, {in[0], &tables[0], &tables[1]});
}

Replacements no_maximum() {
  Replacements r;
  r.row_max = [](Arithmetic&, const Value& x) { return filled(x.batch, x.rows, 1, 0); };
  return r;
}

/// dV of the first head of each group alone: the sum over the group forgotten.
Values one_head_of_group(const Op& op, Arithmetic& device, const Attributes& attributes,
                         const PortTensors& in) {
  auto values = op.evaluate(device, attributes, in);
  if (!values) return values;
  const Index heads = attributes.integer("heads"), group = heads / attributes.integer("kv_heads");
  Tensor first = *in[4];
  const Index cols = first.shape()[1], dim = cols / heads;
  for (Index i = 0; i < first.elements(); ++i)
    if (i % cols / dim % group != 0) first.set_value(i, 0);
  const auto lost = op.evaluate(device, attributes, {in[0], in[1], in[2], in[3], &first});
  if (!lost) return lost;
  (*values)[2] = (*lost)[2];
  return values;
}

}  // namespace

MakeKernel plain_attention() {
  return evaluated(AttentionKernel{});
}

std::vector<Fault> attention_faults() {
  const std::string attention = "attention batch=3 seq=7 heads=4 kv_heads=2 head_dim=17 ";
  const std::string bound = "beyond the hard bound";
  AttentionKernel sees_next, loses_own, sentinel, adds_mask, reads_masked;
  adds_mask.adds_mask = true;
  sees_next.ahead = 1;
  loses_own.ahead = -1;
  sentinel.masked_score = -std::numeric_limits<float>::max();
  reads_masked.reads_masked = true;
  std::vector<Fault> list;
  list.push_back({"rope-interleaved", "rope",
                  evaluated(with_attribute("pairing", std::string("interleaved"))),
                  "rope batch=3 seq=5 heads=2 head_dim=20 rotary=14", "y", bound});
  list.push_back({"rope-table-by-column", "rope", evaluated(table_by_column),
                  "rope batch=3 seq=5 heads=2 head_dim=20 rotary=14 pairing=interleaved", "y", bound});
  list.push_back(
      {"rope-inverse", "rope",
       evaluated([](const Op& op, Arithmetic& device, Attributes attributes, const PortTensors& in) {
         attributes.set("inverse", 1 - attributes.integer("inverse"));
         return op.evaluate(device, attributes, in);
       }),
       "rope batch=3 seq=5 heads=2 head_dim=20 rotary=14", "y", bound});
  list.push_back(
      {"attention-finite-sentinel", "attention", evaluated(sentinel), attention + "mask=y", "o", bound});
  list.push_back({"attention-mask-one-far", "attention", evaluated(sees_next), attention, "o", bound});
  list.push_back({"attention-mask-one-short", "attention", evaluated(loses_own), attention, "o", bound});
  list.push_back({"attention-validity-early", "attention",
                  evaluated(with_input(3,
                                       [](const PortTensors& in, Tensor& valid) {
                                         for (Index i = 1; i < valid.elements(); ++i)
                                           valid.set_value(i, in[3]->value(i - 1));
                                       })),
                  attention + "mask=y", "o", bound});
  list.push_back(
      {"attention-reads-masked-value", "attention", evaluated(reads_masked),
       "attention batch=2 seq=5 heads=2 kv_heads=1 head_dim=8 mask=y fill=nan_cone seed=22 gradient=y", "o",
       "NaN or infinite"});
  list.push_back(
      {"attention-adds-mask", "attention", evaluated(adds_mask),
       "attention batch=2 seq=5 heads=2 kv_heads=1 head_dim=8 mask=y fill=nan_cone seed=145 gradient=y", "o",
       "NaN or infinite"});
  list.push_back({"attention-no-maximum", "attention", evaluated(with(no_maximum())),
                  "attention batch=2 seq=5 heads=2 kv_heads=1 head_dim=8 mask=y fill=saturated gradient=y",
                  "o", "NaN or infinite"});
  list.push_back({"attention-backward-no-maximum", "attention_backward", evaluated(with(no_maximum())),
                  "attention batch=2 seq=5 heads=2 kv_heads=1 head_dim=8 mask=y fill=saturated gradient=y",
                  "d_q", "NaN or infinite"});
  list.push_back(
      {"attention-kv-head", "attention", evaluated(heads_by_remainder({0}, 0)), attention, "o", bound});
  list.push_back({"attention-backward-kv-head", "attention_backward",
                  evaluated(heads_by_remainder({0, 4}, 0)), attention + "gradient=y", "d_k", bound});
  list.push_back({"xsa-kv-head", "xsa", evaluated(heads_by_remainder({0}, 0)),
                  "xsa rows=5 heads=4 kv_heads=2 head_dim=17", "o", bound});
  list.push_back({"attention-backward-dv-zero", "attention_backward",
                  evaluated(with_results(
                      [](const PortTensors&, std::vector<Value>& out) { std::ranges::fill(out[2].v, 0); })),
                  attention + "gradient=y", "d_v", "elements are zero"});
  list.push_back({"attention-backward-dv-unwritten", "attention_backward",
                  evaluated(with_results([](const PortTensors&, std::vector<Value>& out) { out[2] = {}; })),
                  attention + "gradient=y", "d_v", "never written"});
  list.push_back({"attention-backward-one-head", "attention_backward", evaluated(one_head_of_group),
                  attention + "gradient=y", "d_v", bound});
  return list;
}

}  // namespace parity::planted
