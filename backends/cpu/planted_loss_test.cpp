// Faults of the loss (rung 7), of the embedding and of reductions of gradients (rung 8), each on the case
// that shows it.
#include <gtest/gtest.h>

#include "backends/cpu/planted_testing.hpp"

namespace parity::planted {
namespace {

class PlantedLoss : public ::testing::TestWithParam<Order> {};

TEST_P(PlantedLoss, EachIsCaughtOnTheLowestRung) {
  expect_caught(loss_faults(), GetParam());
}

// Sums by atomics: each run in another order. Every run is judged, and none is at fault where no order is
// declared.
TEST(ChangingOrder, IsAFaultOnlyWhereOneIsDeclared) {
  const Workbench bench;
  const MakeKernel alternating = [](const OpTable& ops, const ArithmeticModel& model) {
    return HostKernel(
        [calls = std::make_shared<int>(0), forward = emulated_kernel(ops, model),
         backward = other_order(ops, model)](const OpCall& call, const Program& program, HostMemory& memory) {
          return (++*calls % 2 == 1 ? forward : backward)(call, program, memory);
        });
  };
  const Fault fault{"alternating", "gradient_reduction", alternating, "", "", ""};
  const Case c = bench.parsed("gradient_reduction replicas=67 size=33");
  EXPECT_EQ(bench.run_faulty(fault, Order::withheld, c).verdict, Verdict::pass);
  const Record declared = bench.run_faulty(fault, Order::confirmed, c);
  EXPECT_EQ(declared.verdict, Verdict::fail);
  EXPECT_EQ(declared.reason.find("run 2: bits differ from the confirmed order"), 0u) << declared.reason;
}

INSTANTIATE_TEST_SUITE_P(, PlantedLoss, ::testing::Values(Order::confirmed, Order::broken, Order::withheld),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace parity::planted
