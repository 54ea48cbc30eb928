#include "backends/cpu/faults/fault_kernels.hpp"

#include <algorithm>

#include "harness/numerics/passing_arithmetic.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity::planted {

namespace {

/// Passes everything on but what is replaced.
class Mistaken final : public PassingArithmetic {
 public:
  Mistaken(Arithmetic& device, const Replacements& replacements)
      : PassingArithmetic(device), r_(replacements) {}
  Value matmul(const Value& a, bool ta, const Value& b, bool tb) override {
    return r_.matmul ? r_.matmul(inner(), a, ta, b, tb) : inner().matmul(a, ta, b, tb);
  }
  Value apply(Function function, const Value& x) override {
    return r_.apply ? r_.apply(inner(), function, x) : inner().apply(function, x);
  }
  Value row_dot(const Value& x, const Value* y) override {
    return r_.row_dot ? r_.row_dot(inner(), x, y) : inner().row_dot(x, y);
  }
  Value row_max(const Value& x) override { return r_.row_max ? r_.row_max(inner(), x) : inner().row_max(x); }

 private:
  const Replacements& r_;
};

/// op(a) op(b) term by term, every partial sum in `format`.
Value product_in(DType format, const Value& a, bool ta, const Value& b, bool tb) {
  const Value left = ta ? transpose(a) : a, right = tb ? transpose(b) : b;
  Value out = make_value(std::max(left.batch, right.batch), left.rows, right.cols);
  const auto at = [](const Value& x, Index batch, Index row, Index col) {
    return x.v[static_cast<std::size_t>(((x.batch == 1 ? 0 : batch) * x.rows + row) * x.cols + col)];
  };
  std::size_t place = 0;
  for (Index n = 0; n < out.batch; ++n)
    for (Index i = 0; i < out.rows; ++i)
      for (Index j = 0; j < out.cols; ++j, ++place)
        for (Index p = 0; p < left.cols; ++p)
          out.v[place] = round_to(format_of(format), out.v[place] + at(left, n, i, p) * at(right, n, p, j));
  return out;
}

}  // namespace

MakeKernel evaluated(Evaluation evaluation) {
  return [evaluation = std::move(evaluation)](const OpTable& ops, const ArithmeticModel& model) {
    return HostKernel(
        [=, &ops](const OpCall& call, const Program& program, HostMemory& memory) -> Result<void> {
          ArithmeticModel stored = model;
          stored.precision.store = program.spec(call.outputs.at(0)).dtype;
          const auto device = make_emulated_arithmetic(stored);
          if (!device) return tl::unexpected(device.error());
          std::vector<Tensor> held(call.inputs.size());
          PortTensors ports(call.inputs.size(), nullptr);
          for (std::size_t i = 0; i < call.inputs.size(); ++i) {
            if (call.inputs[i] == no_tensor) continue;
            held[i] = *memory.tensor(call.inputs[i]);
            ports[i] = &held[i];
          }
          const auto values = evaluation(*ops.find(call.op), **device, call.attributes, ports);
          if (!values) return tl::unexpected(values.error());
          for (std::size_t i = 0; i < call.outputs.size(); ++i) {
            Tensor tensor = *memory.tensor(call.outputs[i]);
            if ((*values)[i].size() != tensor.elements()) continue;
            narrow((*device)->store((*values)[i], tensor.dtype()).v, tensor);
            if (auto ok = memory.assign(call.outputs[i], tensor); !ok) return ok;
          }
          return {};
        });
  };
}

MakeKernel only_for(const std::string& output, MakeKernel mistaken) {
  return [output, mistaken = std::move(mistaken)](const OpTable& ops, const ArithmeticModel& model) {
    return HostKernel([output, healthy = emulated_kernel(ops, model), faulty = mistaken(ops, model)](
                          const OpCall& call, const Program& program, HostMemory& memory) {
      const bool here = program.spec(call.outputs[0]).name.ends_with(output);
      return (here ? faulty : healthy)(call, program, memory);
    });
  };
}

Evaluation with(Replacements replacements) {
  return
      [replacements = std::move(replacements)](const Op& op, Arithmetic& device, const Attributes& attributes,
                                               const PortTensors& inputs) -> Values {
        Mistaken mistaken(device, replacements);
        return op.evaluate(mistaken, attributes, inputs);
      };
}

Replacements sums_in(DType format) {
  Replacements r;
  r.matmul = [format](Arithmetic&, const Value& a, bool ta, const Value& b, bool tb) {
    return product_in(format, a, ta, b, tb);
  };
  r.row_dot = [format](Arithmetic&, const Value& x, const Value* y) {
    const Value ones = filled(1, 1, x.cols, 1);
    return reshape(product_in(format, rows_as_batch(x), false, y != nullptr ? rows_as_batch(*y) : ones, true),
                   x.batch, x.rows, 1);
  };
  return r;
}

Evaluation with_attribute(const std::string& name, AttributeValue value) {
  return [=](const Op& op, Arithmetic& device, const Attributes& attributes, const PortTensors& inputs) {
    Attributes changed = attributes;
    changed.set(name, value);
    return op.evaluate(device, changed, inputs);
  };
}

Evaluation with_input(std::size_t port, std::function<void(const PortTensors&, Tensor&)> change) {
  return [port, change = std::move(change)](const Op& op, Arithmetic& device, const Attributes& attributes,
                                            const PortTensors& inputs) {
    if (inputs[port] == nullptr) return op.evaluate(device, attributes, inputs);
    Tensor changed = *inputs[port];
    change(inputs, changed);
    PortTensors ports = inputs;
    ports[port] = &changed;
    return op.evaluate(device, attributes, ports);
  };
}

Evaluation with_results(std::function<void(const PortTensors&, std::vector<Value>&)> change) {
  return [change = std::move(change)](const Op& op, Arithmetic& device, const Attributes& attributes,
                                      const PortTensors& inputs) -> Values {
    auto values = op.evaluate(device, attributes, inputs);
    if (values) change(inputs, *values);
    return values;
  };
}

}  // namespace parity::planted
