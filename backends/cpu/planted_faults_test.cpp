// What a verdict makes of kernels that are not wrong by their values: another order of summation, and a
// kernel that does not finish. Faults that are wrong: planted_*_test.cpp, and the catalogue
// (harness/faults/trial_test.cpp).
#include <gtest/gtest.h>

#include <map>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

HostPath path_for(const std::string& op, HostKernel kernel, bool order_known) {
  Implementation implementation;
  implementation.path = "kernel_f16_f32";
  implementation.op = op;
  implementation.input = DType::f16;
  implementation.stores = {DType::f16, DType::f32};
  implementation.multiply = format_of(DType::f16);
  ArithmeticModel& model = implementation.contract;
  model.precision = {DType::f16, format_of(DType::f16), DType::f32, DType::f32, DType::f16};
  if (order_known) {
    implementation.knowledge = OrderKnowledge::declared;
    model.accumulation = Accumulation{};
    implementation.replays = {model};
  }
  return {implementation, std::move(kernel)};
}

class KnownOrUnknownOrder : public ::testing::TestWithParam<bool> {
 protected:
  OpTable ops = make_op_table();
  StageTable stages = make_stage_table(ops);
};

// Another order of summation stays within every bound; where the order is declared and was confirmed on the
// device, the bits are the contract and it is caught all the same.
TEST_P(KnownOrUnknownOrder, AnotherOrderIsAFaultOnlyWhereTheOrderIsDeclared) {
  ArithmeticModel model = path_for("gemm", {}, true).implementation.contract;
  auto broken = std::make_shared<bool>(false);
  const HostKernel healthy = emulated_kernel(ops, model), reversed = planted::other_order(ops, model);
  const HostKernel kernel = [=](const OpCall& call, const Program& program, HostMemory& memory) {
    return (*broken ? reversed : healthy)(call, program, memory);
  };
  auto device =
      make_host_device({"host:0", "host", "planted", "", "", {}}, {path_for("gemm", kernel, GetParam())});
  RunOptions options;
  options.repeats = 2;
  options.order_effects = false;
  Runner runner(ops, stages, *device, options);
  const Case c = *parse_case("gemm m=96 n=80 k=300 in=f16 out=f32 seed=11", stages);
  const Record before = runner.run(c, "kernel_f16_f32");
  EXPECT_EQ(before.verdict, Verdict::pass) << before.reason;
  *broken = true;
  const Record record = runner.run(c, "kernel_f16_f32");
  EXPECT_EQ(record.verdict, GetParam() ? Verdict::fail : Verdict::pass) << record.reason;
  if (!GetParam()) return;
  std::string reasons;
  for (const std::string& reason : record.outputs.front().judgement.reasons) reasons += reason + "; ";
  EXPECT_NE(reasons.find("bits differ from the confirmed order"), std::string::npos) << reasons;
}

// What a kernel's end says, the record repeats: never a pass, never an exception.
TEST_P(KnownOrUnknownOrder, AKernelThatDoesNotFinishHasAVerdictOfItsOwn) {
  for (const auto& end : std::map<ErrorKind, Verdict>{{ErrorKind::timed_out, Verdict::timeout},
                                                      {ErrorKind::device_failed, Verdict::crash},
                                                      {ErrorKind::unsupported, Verdict::unsupported}}) {
    const HostKernel kernel = [kind = end.first](const OpCall&, const Program&, HostMemory&) -> Result<void> {
      return fail(kind, "the kernel stopped");
    };
    auto device =
        make_host_device({"host:0", "host", "planted", "", "", {}}, {path_for("gemm", kernel, GetParam())});
    Runner runner(ops, stages, *device, {});
    const Record record = runner.run(*parse_case("gemm m=4 n=4 k=4 in=f16", stages), "kernel_f16_f32");
    EXPECT_EQ(record.verdict, end.second);
    EXPECT_EQ(record.reason, "the kernel stopped");
  }
}

INSTANTIATE_TEST_SUITE_P(Order, KnownOrUnknownOrder, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "declared" : "unknown"; });

}  // namespace
}  // namespace parity
