// Faults of the optimizers (rung 9), each on the case that shows it.
#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity::planted {
namespace {

/// A setting as a kernel gets it.
double fp32_number(double x) {
  return static_cast<double>(static_cast<float>(x));
}

/// AdamW as somebody writes it; the defaults are right.
struct AdamWKernel {
  bool corrects = true;              ///< divides by 1 - beta^t
  bool eps_in_root = false;          ///< sqrt(v + eps)
  bool decays_the_update = false;    ///< p - lr (1 - lr wd) u
  bool decays_the_gradient = false;  ///< Adam with g + wd p
  bool decays_after = false;         ///< (p - lr u) (1 - lr wd)

  Values operator()(const Op&, Arithmetic& d, const Attributes& a, const PortTensors& in) const {
    const double lr = a.real("lr"), beta1 = a.real("beta1"), beta2 = a.real("beta2");
    const double decay = a.real("weight_decay");
    const Value p = d.load(*in[0]), m = d.load(*in[2]), v = d.load(*in[3]), correction = d.load(*in[4]);
    Value g = d.load(*in[1]);
    if (decays_the_gradient) g = d.scale_add(1, g, fp32_number(decay), &p);
    const Value square = d.mul(g, g);
    const Value m_next = d.scale_add(fp32_number(beta1), m, fp32_number(1 - beta1), &g);
    const Value v_next = d.scale_add(fp32_number(beta2), v, fp32_number(1 - beta2), &square);
    const Value first = corrects ? d.div(m_next, take_cols(correction, 0, 1)) : m_next;
    const Value second = corrects ? d.div(v_next, take_cols(correction, 1, 1)) : v_next;
    const Value eps = constant(fp32_number(a.real("eps")));
    const Value below = eps_in_root ? d.apply(Function::sqrt, d.add(second, eps))
                                    : d.add(d.apply(Function::sqrt, second), eps);
    const Value update = d.div(first, below);
    const double kept = fp32_number(1 - lr * decay);
    if (decays_after) {
      const Value moved = d.scale_add(1, p, -fp32_number(lr), &update);
      return std::vector{d.scale_add(kept, moved, 0, nullptr), m_next, v_next};
    }
    if (decays_the_update)
      return std::vector{d.scale_add(1, p, -fp32_number(lr * (1 - lr * decay)), &update), m_next, v_next};
    return std::vector{d.scale_add(decays_the_gradient ? 1 : kept, p, -fp32_number(lr), &update), m_next,
                       v_next};
  }
};

}  // namespace

MakeKernel plain_adamw() {
  return evaluated(AdamWKernel{});
}

std::vector<Fault> optimizer_faults() {
  const std::string bound = "beyond the hard bound";
  const std::string adamw = "adamw rows=3 cols=33 ", wide = "adamw rows=3 cols=17 fill=wide";
  AdamWKernel uncorrected, eps_inside, decayed_update, decayed_gradient, decayed_after;
  uncorrected.corrects = false;
  eps_inside.eps_in_root = true;
  decayed_update.decays_the_update = true;
  decayed_gradient.decays_the_gradient = true;
  decayed_after.decays_after = true;
  return {
      {"adamw-no-bias-correction", "adamw", evaluated(uncorrected), adamw, "p_next", bound},
      {"adamw-no-bias-correction", "adamw", evaluated(uncorrected), adamw + "step=7", "p_next", bound},
      {"adamw-decays-update", "adamw", evaluated(decayed_update), adamw, "p_next", bound},
      {"adamw-decays-gradient", "adamw", evaluated(decayed_gradient), adamw, "p_next", bound},
      {"adamw-decays-after", "adamw", evaluated(decayed_after), adamw, "p_next", bound},
      {"adamw-eps-in-root", "adamw", evaluated(eps_inside), wide, "p_next", bound},
      {"adamw-no-eps", "adamw", evaluated(with_attribute("eps", 0.0)), wide, "p_next", bound},
      {"adamw-eps-1e-6", "adamw", evaluated(with_attribute("eps", 1e-6)), wide, "p_next", bound},
      {"adamw-beta2", "adamw", evaluated(with_attribute("beta2", 0.999)), adamw, "v_next", bound},
      {"adamw-never-updates", "adamw",
       evaluated(with_results([](const PortTensors& in, std::vector<Value>& out) {
         for (Index i = 0; i < in[0]->elements(); ++i)
           out[0].v[static_cast<std::size_t>(i)] = in[0]->value(i);
       })),
       adamw, "p_next", bound},
      {"muon-no-nesterov", "muon_momentum",
       evaluated(with_results([](const PortTensors&, std::vector<Value>& out) { out[1] = out[0]; })),
       "muon rows=9 cols=17", "momentum", bound},
      {"muon-norm-no-eps", "frobenius_normalize", evaluated(with_attribute("eps", 0.0)),
       "muon rows=5 cols=7 fill=zeros", "x0", "NaN or infinite"},
      {"muon-norm-eps-1e-6", "frobenius_normalize", evaluated(with_attribute("eps", 1e-6)),
       "muon rows=5 cols=7 fill=subnormal", "x0", bound},
      {"muon-norm-fp16-squares", "frobenius_normalize", evaluated(with(sums_in(DType::f16))),
       "muon rows=9 cols=17", "x0", bound},
  };
}

}  // namespace parity::planted
