// Faults of RMS normalisation and of the reductions that make gradients of weights, each on the case that
// shows it.
#include <cmath>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity::planted {
namespace {

/// Squares rounded to fp16 before they are added in fp32: beyond 255 they overflow.
Replacements fp16_squares() {
  Replacements r;
  r.row_dot = [](Arithmetic& device, const Value& x, const Value* y) {
    Value squares = device.mul(x, *y);
    for (double& s : squares.v) s = round_to(format_of(DType::f16), s);
    return device.row_dot(squares, nullptr);
  };
  return r;
}

/// 1 / (sqrt(mean) + eps), or 1 / sqrt(mean) + eps: the op without an epsilon, its R and Y changed.
Values eps_beside_the_root(const Op& op, Arithmetic& device, const Attributes& attributes,
                           const PortTensors& in) {
  Attributes without = attributes;
  without.set("eps", 0.0);
  auto values = op.evaluate(device, without, in);
  if (!values || in[0]->elements() == 0) return values;
  const Value x = device.load(*in[0]);
  const Index group = x.size() / (*values)[1].size();
  const Value rows = reshape(x, 1, x.size() / group, group);
  const Value mean = device.div(device.row_dot(rows, &rows), constant(static_cast<double>(group)));
  const Value root = device.add(device.apply(Function::sqrt, mean), constant(attributes.real("eps")));
  const Value r = device.div(filled(1, rows.rows, 1, 1), root);
  Value y = reshape(device.mul(rows, r), 1, x.rows, x.cols);
  if (in[1] != nullptr) y = device.mul(y, device.load(*in[1]));
  (*values)[0] = y;
  (*values)[1] = reshape(r, 1, (*values)[1].rows, (*values)[1].cols);
  return values;
}

}  // namespace

std::vector<Fault> norm_faults() {
  const std::string bound = "beyond the hard bound";
  const auto lost = evaluated(
      with_results([](const PortTensors&, std::vector<Value>& out) { std::ranges::fill(out[0].v, 0); }));
  const std::string stack = "gru_stack layers=2 steps=2 batch=3 hidden=17 ";
  return {
      {"norm-fp16-squares", "rms_norm", evaluated(with(fp16_squares())), stack, "l0.inverse", bound},
      {"norm-fp16-squares", "rms_norm", evaluated(with(fp16_squares())),
       "gru_stack layers=1 steps=2 batch=3 hidden=9 fill=saturated gradient=y", "l0.inverse", bound},
      {"norm-eps-1e-5", "rms_norm", evaluated(with_attribute("eps", 1e-5)), stack, "l0.inverse", bound},
      {"norm-eps-of-fp32", "rms_norm", evaluated(with_attribute("eps", 0x1p-23)), stack, "l0.inverse", bound},
      {"norm-no-eps", "rms_norm", evaluated(with_attribute("eps", 0.0)), stack, "l0.inverse", bound},
      {"norm-eps-beside-root", "rms_norm", evaluated(eps_beside_the_root),
       "gru_stack layers=1 steps=2 batch=3 hidden=9 fill=zeros gradient=y", "l0.inverse", bound},
      {"norm-no-weight", "rms_norm",
       evaluated(with_results([](const PortTensors& in, std::vector<Value>& out) {
         if (in[1] == nullptr) return;
         for (std::size_t i = 0; i < out[0].v.size(); ++i)
           out[0].v[i] /= in[1]->value(static_cast<Index>(i) % out[0].cols);
       })),
       stack, "l0.normed", bound},
      {"norm-dweight-bf16-sum", "rms_norm_weight_gradient", evaluated(with(sums_in(DType::bf16))),
       stack + "gradient=y", "d_l0.norm", bound},
      {"norm-dweight-fp16-sum", "rms_norm_weight_gradient", evaluated(with(sums_in(DType::f16))),
       stack + "gradient=y", "d_l0.norm", bound},
      {"norm-dweight-zero", "rms_norm_weight_gradient", lost, stack + "gradient=y", "d_l0.norm",
       "elements are zero"},
      {"gain-gradient-bf16-sum", "head_scale_gain_gradient", evaluated(with(sums_in(DType::bf16))),
       "qk_norm batch=3 seq=5 heads=3 head_dim=20 rotary=14 gradient=y", "d_gain", bound},
  };
}

}  // namespace parity::planted
