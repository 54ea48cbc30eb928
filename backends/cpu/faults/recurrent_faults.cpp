// Faults of the recurrent rungs (2 to 5), each on the case that shows it.
#include <cmath>
#include <map>
#include <memory>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity::planted {
namespace {

/// Element (row, row) of a matrix where (row, column) is right: the index of the outer loop for that of the
/// inner one.
Evaluation outer_index(std::size_t port) {
  return with_input(port, [port](const PortTensors& in, Tensor& x) {
    const Index cols = x.shape()[1];
    for (Index i = 0; i < x.elements(); ++i)
      x.set_value(i, in[port]->value(i / cols * cols + i / cols % cols));
  });
}

/// gru_gates with its reset gate, its candidate or its blend mistaken.
struct GatesKernel {
  bool reset_by_outer_index = false;
  bool resets_the_input = false;  ///< n = tanh(r a_n + u_n)
  bool keeps_by_one_minus_z = false;

  Values operator()(const Op&, Arithmetic& m, const Attributes&, const PortTensors& in) const {
    const Value a = m.load(*in[0]), u = m.load(*in[1]), h = m.load(*in[2]);
    const auto part = [&](const Value& x, Index gate) { return take_cols(x, gate * h.cols, h.cols); };
    const Value one = constant(1);
    const Value r = m.apply(Function::sigmoid, m.add(part(a, 0), part(u, 0)));
    const Value z = m.apply(Function::sigmoid, m.add(part(a, 1), part(u, 1)));
    Value used = r;
    if (reset_by_outer_index)
      for (Index i = 0; i < r.size(); ++i)
        used.v[static_cast<std::size_t>(i)] =
            r.v[static_cast<std::size_t>(i / r.cols * r.cols + i / r.cols % r.cols)];
    const Value n = m.apply(Function::tanh, resets_the_input ? m.add(m.mul(used, part(a, 2)), part(u, 2))
                                                             : m.add(part(a, 2), m.mul(used, part(u, 2))));
    const Value other = m.scale_add(-1, z, 1, &one);
    const Value next =
        keeps_by_one_minus_z ? m.add(m.mul(z, n), m.mul(other, h)) : m.add(m.mul(other, n), m.mul(z, h));
    return std::vector{next, r, z, n};
  }
};

/// A sequence's kernel keeps the state on the device and starts each sequence from what is there: h0 when it
/// is new, afterwards what the sequence before left.
HostKernel uncleared_state(const OpTable& ops, const ArithmeticModel& model) {
  // By shape: a buffer of its own for each, as a device has.
  return [kept = std::make_shared<std::map<Shape, Tensor>>(), healthy = emulated_kernel(ops, model)](
             const OpCall& call, const Program& program, HostMemory& memory) -> Result<void> {
    const bool is_sequence = std::ranges::count(program.calls, call.op, &OpCall::op) > 1;
    if (!is_sequence) return healthy(call, program, memory);
    const TensorId h = call.inputs[2];
    const Tensor given = *memory.tensor(h);
    const auto left = kept->find(given.shape());
    const bool starts = program.spec(h).role == TensorSpec::Role::input && left != kept->end();
    if (starts) {
      Tensor stale = given;
      for (Index i = 0; i < stale.elements(); ++i) stale.set_bits(i, left->second.bits(i));
      if (auto ok = memory.assign(h, stale); !ok) return ok;
    }
    if (auto ok = healthy(call, program, memory); !ok) return ok;
    kept->insert_or_assign(given.shape(), *memory.tensor(call.outputs[0]));
    return starts ? memory.assign(h, given) : Result<void>{};
  };
}

/// tanh as (e^2x - 1) / (e^2x + 1), which is infinity over infinity for large x; sigmoid as e^x / (e^x + 1).
Replacements unclamped_functions() {
  Replacements r;
  r.apply = [](Arithmetic& device, Function function, const Value& x) {
    if (function != Function::tanh && function != Function::sigmoid) return device.apply(function, x);
    const double twice = function == Function::tanh ? 2 : 1;
    const Value e = device.apply(Function::exp, device.scale_add(twice, x, 0, nullptr));
    const Value one = constant(1);
    return device.div(function == Function::tanh ? device.scale_add(1, e, -1, &one) : e, device.add(e, one));
  };
  return r;
}

}  // namespace

std::vector<Fault> recurrent_faults() {
  const std::string bound = "beyond the hard bound";
  GatesKernel outer_reset, reset_input, swapped;
  outer_reset.reset_by_outer_index = true;
  reset_input.resets_the_input = true;
  swapped.keeps_by_one_minus_z = true;
  return {
      {"gru-gate-outer-index", "gru_gate", evaluated(outer_index(1)), "gru_gate batch=3 hidden=33", "y",
       bound},
      {"gru-gate-unclamped-tanh", "gru_gate", evaluated(with(unclamped_functions())),
       "gru_gate batch=3 hidden=17 activation=tanh fill=saturated gradient=y", "y", "NaN or infinite"},
      {"gru-cell-outer-index", "gru_gates", evaluated(outer_reset), "gru_cell batch=3 inputs=17 hidden=33",
       "n", bound},
      {"gru-cell-outer-index-reset-before", "mul", only_for("rh", evaluated(outer_index(0))),
       "gru_cell batch=3 inputs=17 hidden=33 variant=reset_before", "rh", bound},
      {"gru-cell-resets-input", "gru_gates", evaluated(reset_input), "gru_cell batch=3 inputs=17 hidden=33",
       "n", bound},
      {"gru-cell-blend-swapped", "gru_gates", evaluated(swapped), "gru_cell batch=3 inputs=17 hidden=33",
       "h_next", bound},
      {"gru-cell-du-without-r", "gru_gates_backward",
       evaluated(with_results([](const PortTensors&, std::vector<Value>& out) { out[1] = out[0]; })),
       "gru_cell batch=3 inputs=17 hidden=33 gradient=y", "d_u", bound},
      {"gru-cell-du-zero", "gru_gates_backward",
       evaluated(
           with_results([](const PortTensors&, std::vector<Value>& out) { std::ranges::fill(out[1].v, 0); })),
       "gru_cell batch=3 inputs=17 hidden=33 gradient=y", "d_u", "elements are zero"},
      {"gru-sequence-state-kept", "gru_gates", uncleared_state,
       "gru_sequence steps=4 batch=3 inputs=7 hidden=17", "t0_h", "run 2: "},
      {"gru-stack-no-residual", "axpby", only_for("out", evaluated(with_attribute("alpha", 0.0))),
       "gru_stack layers=2 steps=2 batch=3 hidden=17", "l0.out", bound},
  };
}

}  // namespace parity::planted
