// A case that a wrong result would pass proves nothing, and says so.
#include "harness/ladder/power.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/cpu_backend.hpp"
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

TEST_F(PowerOfCases, ACompositeProgramNeedsOneResultThatProvesSomething) {
  OutputRecord blind, seeing;
  blind.op = "xsa", blind.tensor = "o";
  blind.power.missed = {"zeroed"};
  seeing.power.seen = {"zeroed"};
  EXPECT_EQ(why_powerless({blind, seeing}), "");
  EXPECT_EQ(why_powerless({}), "");
  EXPECT_NE(why_powerless({blind, blind}).find("xsa -> o: zeroed"), std::string::npos);
}

}  // namespace
}  // namespace parity
