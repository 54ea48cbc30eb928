#include "backends/cpu/planted_testing.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"
#include "references/op_table.hpp"

namespace parity::planted {

namespace {

/// Passes everything on but what is replaced.
class Mistaken final : public Arithmetic {
 public:
  Mistaken(Arithmetic& device, const Replacements& replacements) : device_(device), r_(replacements) {}
  Value load(const Tensor& tensor) override { return device_.load(tensor); }
  Value matmul(const Value& a, bool ta, const Value& b, bool tb) override {
    return r_.matmul ? r_.matmul(device_, a, ta, b, tb) : device_.matmul(a, ta, b, tb);
  }
  Value scale_add(double alpha, const Value& x, double beta, const Value* y) override {
    return device_.scale_add(alpha, x, beta, y);
  }
  Value add(const Value& x, const Value& y) override { return device_.add(x, y); }
  Value mul(const Value& x, const Value& y) override { return device_.mul(x, y); }
  Value div(const Value& x, const Value& y) override { return device_.div(x, y); }
  Value apply(Function function, const Value& x) override {
    return r_.apply ? r_.apply(device_, function, x) : device_.apply(function, x);
  }
  Value row_dot(const Value& x, const Value* y) override {
    return r_.row_dot ? r_.row_dot(device_, x, y) : device_.row_dot(x, y);
  }
  Value row_max(const Value& x) override { return r_.row_max ? r_.row_max(device_, x) : device_.row_max(x); }
  Value store(const Value& x, DType dtype) override { return device_.store(x, dtype); }

 private:
  Arithmetic& device_;
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

/// Only the paths whose order is the simplest, and casts: enough for any case.
bool is_kept(const Implementation& implementation) {
  return implementation.path.starts_with("sequential_") || implementation.path.starts_with("from_");
}

std::string path_of(const Case& c) {
  return c.input == DType::f64    ? "sequential_f64"
         : c.input == DType::f16  ? "sequential_f16_f32"
         : c.input == DType::bf16 ? "sequential_bf16_f32"
                                  : "sequential_f32";
}

/// The sentences about one tensor (empty: about any).
std::string said_of(const Record& record, const std::string& tensor) {
  std::string text;
  for (const OutputRecord& output : record.outputs)
    if (tensor.empty() || output.tensor == tensor)
      for (const std::string& reason : output.judgement.reasons) text += reason + "; ";
  // What is not about a single output of a call: the record's own sentence, when it names the tensor.
  if (record.reason.find(tensor) != std::string::npos) text += record.reason;
  return text;
}

}  // namespace

std::string name_of(Order order) {
  return order == Order::confirmed ? "confirmed" : order == Order::broken ? "broken" : "withheld";
}

const std::string& Fault::finding(Order order) const {
  return order == Order::confirmed ? confirmed : order == Order::broken ? broken : withheld;
}

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

Workbench::Workbench() : ops_(make_op_table()), stages_(make_stage_table(ops_)) {}

Case Workbench::parsed(const std::string& text) const {
  const auto c = parse_case(text, stages_);
  EXPECT_TRUE(c) << text << ": " << c.error().message;
  return c ? *c : Case{};
}

std::vector<Case> Workbench::suite(const std::string& name) const {
  std::ifstream stream(std::string(PARITY_CASES) + "/" + name + ".txt");
  std::stringstream text;
  text << stream.rdbuf();
  const auto cases = parse_suite(text.str(), name, stages_);
  EXPECT_TRUE(cases) << cases.error().message;
  return cases ? *cases : std::vector<Case>{};
}

bool Workbench::uses(const Case& c, const std::string& op) const {
  const auto program = stages_.find(c.stage)->build(c);
  return program && std::ranges::find(program->calls, op, &OpCall::op) != program->calls.end();
}

Record Workbench::run(const Fault& fault, Order order, const Case& c, bool faulty) const {
  auto broken = std::make_shared<bool>(faulty && order == Order::broken);
  const auto cpu = make_cpu_backend(ops_)->devices();
  std::vector<HostPath> paths;
  for (Implementation implementation : cpu->front()->implementations()) {
    if (!is_kept(implementation)) continue;
    HostKernel kernel = emulated_kernel(ops_, implementation.replays.front());
    if (implementation.op == fault.op)
      kernel = [broken, healthy = kernel, mistaken = fault.kernel(ops_, implementation.replays.front())](
                   const OpCall& call, const Program& program, HostMemory& memory) {
        return (*broken ? mistaken : healthy)(call, program, memory);
      };
    if (order == Order::withheld) {
      implementation.knowledge = OrderKnowledge::unknown;
      implementation.replays.clear();
      implementation.contract.accumulation.reset();
    }
    paths.push_back({implementation, std::move(kernel)});
  }
  auto device = make_host_device({"host:0", "host", "planted", "", "", {}}, std::move(paths));
  Runner runner(ops_, stages_, *device,
                {.repeats = 2, .order_effects = false, .inputs = {}, .provenance = {}, .repro_suffix = {}});
  if (!faulty || order == Order::confirmed) {
    const Record healthy = runner.run(c, path_of(c));
    if (!faulty) return healthy;
  }
  *broken = true;
  return runner.run(c, path_of(c));
}

Record Workbench::run_healthy(const Fault& fault, Order order, const Case& c) const {
  return run(fault, order, c, false);
}
Record Workbench::run_faulty(const Fault& fault, Order order, const Case& c) const {
  return run(fault, order, c, true);
}

void expect_caught(const std::vector<Fault>& faults, Order order) {
  const Workbench bench;
  std::map<std::string, std::vector<Case>> suites;
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.name + ", order " + name_of(order));
    if (!suites.contains(fault.suite)) suites[fault.suite] = bench.suite(fault.suite);
    const std::vector<Case>& suite = suites[fault.suite];
    const Case c = bench.parsed(fault.case_text);
    EXPECT_NE(std::ranges::find(suite, c), suite.end()) << fault.case_text << " is not in " << fault.suite;
    const Record healthy = bench.run_healthy(fault, order, c);
    EXPECT_EQ(healthy.verdict, Verdict::pass) << "the healthy kernel: " << healthy.reason;

    const Record record = bench.run_faulty(fault, order, c);
    const std::string& finding = fault.finding(order);
    if (finding.empty()) {
      EXPECT_EQ(record.verdict, Verdict::pass) << "caught after all: " << record.reason;
      continue;
    }
    EXPECT_TRUE(record.verdict == Verdict::fail || record.verdict == Verdict::suspect)
        << fault.case_text << ": " << name_of(record.verdict);
    const std::string said = said_of(record, fault.where);
    EXPECT_NE(said.find(finding), std::string::npos)
        << fault.where << ": \"" << said << "\", not \"" << finding << "\"; the record: " << record.reason;
    const auto shows = [&](const Case& lower) {
      return bench.rung_of(lower) < bench.rung_of(c) && bench.uses(lower, fault.op) &&
             bench.run_faulty(fault, order, lower).verdict != Verdict::pass;
    };
    const auto lower = std::ranges::find_if(suite, shows);
    if (lower != suite.end())
      ADD_FAILURE() << "a lower rung shows it: " << print_case(*lower, bench.stages());
  }
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
