// A case that a wrong result would pass proves nothing, and says so.
#include "harness/ladder/power.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/drift.hpp"
#include "harness/ladder/program_power.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

bool holds(const std::vector<std::string>& names, std::string_view part) {
  return std::ranges::any_of(names, [&](const std::string& n) { return n.find(part) != std::string::npos; });
}

class PowerOfCases : public ::testing::Test {
 protected:
  Record run(Device& device, const std::string& text, const std::string& path) {
    Runner runner(ops, stages, device, {.repeats = 1, .order_effects = false});
    return runner.run(*parse_case(text, stages), path);
  }
  const Implementation& find(std::string_view op, std::string_view path) {
    for (const Implementation& i : cpu.implementations())
      if (i.op == op && i.path == path) return i;
    ADD_FAILURE() << "no " << op << " " << path;
    return cpu.implementations().front();
  }

  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const std::unique_ptr<Backend> backend = make_cpu_backend(ops);
  const std::vector<std::unique_ptr<Device>> devices = *backend->devices();
  Device& cpu = *devices.front();
};

/// The CPU's paths with the contract of one of them changed; their kernels compute what they did.
std::unique_ptr<Device> with_contract(const OpTable& ops, Device& cpu, const std::string& path,
                                      const std::string& op,
                                      const std::function<void(ArithmeticModel&)>& change) {
  std::vector<HostPath> paths;
  for (const Implementation& i : cpu.implementations()) {
    if (i.path != path) continue;
    HostPath host{i, emulated_kernel(ops, i.contract)};
    if (i.op == op) {
      host.implementation.knowledge = OrderKnowledge::unknown;
      host.implementation.replays.clear();
      change(host.implementation.contract);
    }
    paths.push_back(std::move(host));
  }
  return make_host_device({"cpu:9", "cpu", "vacuous", "", "", {}}, paths);
}
const auto allows_anything = [](ArithmeticModel& model) {
  model.accumulation.reset();
  model.divide.absolute = model.exp.absolute = model.sigmoid.absolute = model.tanh.absolute = 1e6;
};

TEST_F(PowerOfCases, AHealthyCaseSeesEveryMutant) {
  for (const char* text : {"gemm m=20 n=30 k=64 in=f32", "gemm m=20 n=30 k=64 fill=integer in=f32",
                           "gradient_reduction m=64 n=20 in=f32", "rms_norm rows=8 cols=32 in=f32"}) {
    const auto parsed = parse_case(text, stages);
    if (!parsed) continue;
    const Record record = run(cpu, text, "sequential_f32");
    ASSERT_EQ(record.verdict, Verdict::pass) << text << ": " << record.reason;
    for (const OutputRecord& o : record.outputs) {
      EXPECT_TRUE(o.power.missed.empty()) << text << ": " << o.power.missed.front();
      for (const char* mutant : {"zeroed", "x 2", "x 1.01"}) EXPECT_TRUE(holds(o.power.seen, mutant)) << text;
    }
  }
  const Record gemm = run(cpu, "gemm m=20 n=30 k=64 in=f32", "sequential_f32");
  EXPECT_TRUE(holds(gemm.outputs.front().power.seen, "row dropped"));
  EXPECT_TRUE(holds(gemm.outputs.front().power.seen, "last 16 of 64 k dropped"));
}

TEST_F(PowerOfCases, AContractThatAllowsEverythingIsUntrusted) {
  HostPath path{find("linear", "sequential_f32"), nullptr};
  path.kernel = emulated_kernel(ops, path.implementation.contract);
  const std::string text = "linear m=20 n=30 k=64 activation=tanh in=f32";
  const auto honest = make_host_device({"cpu:9", "cpu", "honest", "", "", {}}, {path});
  EXPECT_EQ(run(*honest, text, "sequential_f32").verdict, Verdict::pass);
  path.implementation.contract.tanh.absolute = 10;
  const auto wide = make_host_device({"cpu:9", "cpu", "wide", "", "", {}}, {path});
  const Record record = run(*wide, text, "sequential_f32");
  EXPECT_EQ(record.verdict, Verdict::untrusted);
  EXPECT_NE(record.reason.find("zeroed"), std::string::npos) << record.reason;
}

/// All keys are alike: the gradient of the queries is zero by mathematics, and zeros are no fault.
TEST_F(PowerOfCases, WhatCancelsByMathematicsHasNoMutants) {
  const std::string text =
      "attention batch=2 seq=5 heads=2 kv_heads=1 head_dim=8 fill=rows_equal gradient=y in=f32";
  const Record record = run(cpu, text, "pairwise_f32");
  ASSERT_EQ(record.verdict, Verdict::pass) << record.reason;
  const auto d_q = std::ranges::find(record.outputs, "d_q", &OutputRecord::tensor);
  ASSERT_NE(d_q, record.outputs.end());
  EXPECT_TRUE(holds(d_q->power.void_mutants, "zeroed"));
  // Whatever the path's own contract allows: its bound has no say in it.
  const auto vacuous = with_contract(ops, cpu, "pairwise_f32", "attention", allows_anything);
  const Record wide = run(*vacuous, text, "pairwise_f32");
  EXPECT_EQ(wide.verdict, Verdict::untrusted) << wide.reason;
}

/// A product as it is judged: exact reference with its bounds, the device's result equal to it.
TEST_F(PowerOfCases, DataWhoseLastTermsAreZeroDoNotShowALostTail) {
  ArithmeticModel model;
  model.accumulation = Accumulation{};
  Tensor a = *Tensor::create(DType::f32, {6, 40}), b = *Tensor::create(DType::f32, {40, 7});
  for (std::int64_t i = 0; i < a.elements(); ++i)
    a.set_value(i, i % 40 < 24 ? static_cast<double>(1 + i % 5) : 0);
  for (std::int64_t i = 0; i < b.elements(); ++i) b.set_value(i, static_cast<double>(1 + i % 3));
  const Attributes attributes;
  CallResult call{ops.find("gemm"), &attributes, {&a, &b, nullptr}, 0, nullptr};
  const auto power_of = [&] {
    const auto want = *call.op->evaluate(*make_tracked_arithmetic(model), attributes, call.inputs);
    Tensor got = *Tensor::create(DType::f32, {6, 7});
    for (std::int64_t i = 0; i < got.elements(); ++i)
      got.set_value(i, want.front().v[static_cast<std::size_t>(i)]);
    call.got = &got;
    Contract contract;
    contract.order_known = true;
    contract.store_rounds = false;
    return measure_power(call, want.front(), contract, {});
  };
  Power power = power_of();
  EXPECT_TRUE(holds(power.void_mutants, "last 16 of 40 k dropped"));
  EXPECT_TRUE(holds(power.seen, "row dropped"));
  a.set_value(3 * 40 + 39, 2);  // one row has a term there
  power = power_of();
  EXPECT_TRUE(holds(power.seen, "last 16 of 40 k dropped"));
}

TEST_F(PowerOfCases, AResultOfAProgramThatNothingShowsIsUntrusted) {
  const std::string text = "attention batch=2 seq=5 heads=2 kv_heads=1 head_dim=8 gradient=y in=f32";
  const Record healthy = run(cpu, text, "sequential_f32");
  ASSERT_EQ(healthy.verdict, Verdict::pass) << healthy.reason;
  EXPECT_TRUE(healthy.notes.empty()) << healthy.notes.front();
  const auto vacuous = with_contract(ops, cpu, "sequential_f32", "attention", allows_anything);
  const Record record = run(*vacuous, text, "sequential_f32");
  EXPECT_EQ(record.verdict, Verdict::untrusted);
  EXPECT_NE(record.reason.find("attention -> o"), std::string::npos) << record.reason;
  ASSERT_FALSE(record.notes.empty());
  EXPECT_NE(record.notes.front().find("nothing else shows"), std::string::npos) << record.notes.front();
}

TEST_F(PowerOfCases, AnIntermediateThatNoResultShowsIsNoted) {
  // The products of a cell are read by its gates alone: with a vacuous bound on them h_next has one too, end
  // to end; its own contract still sees every mutant of it.
  const auto vacuous = with_contract(ops, cpu, "sequential_f32", "linear", [](ArithmeticModel& model) {
    model.accumulation.reset();
    model.precision.multiply.precision = 2;
    model.multiply_rounding = Rounding::toward_zero;
  });
  const Record record = run(*vacuous, "gru_cell batch=3 inputs=5 hidden=6 in=f32", "sequential_f32");
  EXPECT_EQ(record.verdict, Verdict::pass) << record.reason;
  ASSERT_FALSE(record.notes.empty());
  for (const std::string& note : record.notes) {
    EXPECT_TRUE(note.starts_with("linear -> ")) << note;
    EXPECT_NE(note.find("no result of the program shows"), std::string::npos) << note;
  }
}

/// Under the program's bounds as they are, its result shows an intermediate that was never computed.
TEST_F(PowerOfCases, AnIntermediateIsShownEndToEnd) {
  const Case c = *parse_case("gru_cell batch=3 inputs=5 hidden=6 in=f32", stages);
  const Stage& stage = *stages.find(c.stage);
  const Program program = *stage.build(c);
  const auto assignment = *assign(cpu, program, "sequential_f32");
  std::map<TensorId, Tensor> inputs;
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].role == TensorSpec::Role::input)
      inputs.emplace(static_cast<TensorId>(i), *stage.fill(c, program, static_cast<TensorId>(i)));
  const auto exact = *evaluate_exactly(ops, program, inputs);
  const auto tracked = *evaluate_tracked(ops, program, inputs, assignment);
  const TensorId h = program.calls.back().outputs.front();
  const TensorId product = *program.find("a");
  Value zeroed = exact.values.at(product);
  std::ranges::fill(zeroed.v, 0.0);
  OutputRecord seeing;
  seeing.power.seen = {"zeroed"};
  const auto power = [&](TensorId id, const Value& values, const ProgramEvaluation* bounds) {
    return *measure_program_power(ops, program, inputs, {seeing}, {{id, "zeroed", values}}, exact, bounds);
  };
  const ProgramPower covered = power(product, zeroed, &tracked);
  EXPECT_EQ(covered.untrusted, "");
  ASSERT_EQ(covered.notes.size(), 1u);
  EXPECT_NE(covered.notes.front().find("linear -> a: "), std::string::npos) << covered.notes.front();
  EXPECT_NE(covered.notes.front().find("the end-to-end bound of"), std::string::npos);
  // Without bounds nothing shows it; it is no result.
  const ProgramPower unknown = power(product, zeroed, nullptr);
  EXPECT_EQ(unknown.untrusted, "");
  EXPECT_NE(unknown.notes.front().find("no result of the program shows zeroed"), std::string::npos);
  // A result is a result, unless another result of its call would show the fault.
  EXPECT_NE(power(h, exact.values.at(h), &tracked).untrusted, "");
  seeing.call = static_cast<int>(program.calls.size()) - 1;
  EXPECT_EQ(power(h, exact.values.at(h), &tracked).untrusted, "");
}

TEST_F(PowerOfCases, AProgramOfWhichNoTensorSeesAnythingIsUntrusted) {
  OutputRecord blind, seeing;
  blind.op = "xsa", blind.tensor = "o";
  blind.power.missed = {"zeroed"};
  seeing.power.seen = {"zeroed"};
  const auto why = [&](const std::vector<OutputRecord>& outputs) {
    return measure_program_power(ops, {}, {}, outputs, {}, {}, nullptr)->untrusted;
  };
  EXPECT_EQ(why({blind, seeing}), "");
  EXPECT_EQ(why({}), "");
  EXPECT_NE(why({blind, blind}).find("xsa -> o: zeroed"), std::string::npos);
}

}  // namespace
}  // namespace parity
