// Faults of the loss (rung 7), of the embedding and of reductions of gradients (rung 8), each on the case
// that shows it.
#include <cmath>
#include <map>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity::planted {
namespace {

Replacements no_maximum() {
  Replacements r;
  r.row_max = [](Arithmetic&, const Value& x) { return filled(x.batch, x.rows, 1, 0); };
  return r;
}

/// Blocks of 64 rows add to one element at the same time: one term of a column is lost.
Evaluation lost_update(Index column) {
  return with_input(0, [column](const PortTensors&, Tensor& x) {
    const Index rows = x.shape()[0], cols = x.shape()[1];
    if (rows > 64 && column < cols) x.set_value(rows / 2 * cols + column, 0);
  });
}

/// The last of several rows with one id, in one column, is not added.
Values lost_scatter(const Op& op, Arithmetic& device, const Attributes& attributes, const PortTensors& in) {
  Tensor dy = *in[1];
  std::map<double, Index> last;
  std::map<double, int> count;
  for (Index row = 0; row < in[0]->elements(); ++row) {
    last[in[0]->value(row)] = row;
    ++count[in[0]->value(row)];
  }
  for (const auto& [id, row] : last)
    if (count[id] > 1) {
      dy.set_value(row * dy.shape()[1] + dy.shape()[1] / 2, 0);
      break;
    }
  return op.evaluate(device, attributes, {in[0], &dy});
}

/// Rows with one id overwrite each other.
Values overwriting_scatter(const Op& op, Arithmetic& device, const Attributes& attributes,
                           const PortTensors& in) {
  Tensor dy = *in[1];
  std::map<double, Index> last;
  for (Index row = 0; row < in[0]->elements(); ++row) last[in[0]->value(row)] = row;
  const Index cols = dy.shape()[1];
  for (Index i = 0; i < dy.elements(); ++i)
    if (last[in[0]->value(i / cols)] != i / cols) dy.set_value(i, 0);
  return op.evaluate(device, attributes, {in[0], &dy});
}

}  // namespace

HostKernel other_order(const OpTable& ops, ArithmeticModel model) {
  model.accumulation->order.kind = SummationOrder::Kind::reversed;
  return emulated_kernel(ops, model);
}

std::vector<Fault> loss_faults() {
  const std::string bound = "beyond the hard bound";
  const std::string loss = "softmax_cross_entropy rows=5 classes=33 ";
  const std::string wide = "softmax_cross_entropy rows=9 classes=17 fill=wide gradient=y";
  const std::string bias = "linear m=5 n=33 k=17 gradient=y";
  const std::string sums = "gradient_reduction replicas=67 size=33 ";
  return {
      {"mean-fp16-sum", "mean", evaluated(with(sums_in(DType::f16))), loss, "loss", bound},
      {"loss-fp16-sum", "softmax_cross_entropy", evaluated(with(sums_in(DType::f16))), loss, "row_loss",
       bound},
      {"loss-backward-fp16-sum", "softmax_cross_entropy_backward", evaluated(with(sums_in(DType::f16))),
       loss + "gradient=y", "d_logits", bound},
      {"loss-no-maximum", "softmax_cross_entropy", evaluated(with(no_maximum())), wide, "row_loss",
       "NaN or infinite"},
      {"loss-backward-no-maximum", "softmax_cross_entropy_backward", evaluated(with(no_maximum())), wide,
       "d_logits", "NaN or infinite"},
      {"mean-backward-no-division", "mean_backward",
       evaluated(with_results([](const PortTensors&, std::vector<Value>& out) {
         for (double& x : out[0].v) x *= static_cast<double>(out[0].size());
       })),
       loss + "gradient=y", "d_row_loss", bound},
      {"reduction-lost-update", "gradient_reduction", evaluated(lost_update(0)), sums, "y", bound},
      {"reduction-lost-update", "gradient_reduction", evaluated(lost_update(5)),
       "gradient_reduction replicas=131 size=17 fill=integer", "y", "differ from the exact result"},
      {"reduction-bf16-sum", "gradient_reduction", evaluated(with(sums_in(DType::bf16))), bias, "d_bias",
       bound},
      // Within every bound; only the bits know.
      {"reduction-other-order", "gradient_reduction", other_order, bias, "d_bias",
       "bits differ from the confirmed order", "", ""},
      {"scatter-lost-update", "embedding_backward", evaluated(lost_scatter),
       "embedding rows=37 vocabulary=5 width=17 gradient=y", "d_table", bound},
      {"scatter-overwrites", "embedding_backward", evaluated(overwriting_scatter),
       "embedding rows=37 vocabulary=5 width=17 gradient=y", "d_table", bound},
      {"scatter-bf16-sum", "embedding_backward", evaluated(with(sums_in(DType::bf16))),
       "embedding rows=37 vocabulary=5 width=17 gradient=y", "d_table", bound},
      {"square-sum-fp16", "square_sum", evaluated(with(sums_in(DType::f16))),
       "grad_norm_clip tensors=3 rows=3 cols=17", "g0_square", bound},
  };
}

}  // namespace parity::planted
