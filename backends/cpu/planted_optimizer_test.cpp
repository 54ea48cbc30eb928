// Faults of the optimizers (rung 9), each on the case that shows it.
#include <gtest/gtest.h>

#include "backends/cpu/planted_testing.hpp"

namespace parity::planted {
namespace {

class PlantedOptimizer : public ::testing::TestWithParam<Order> {};

TEST_P(PlantedOptimizer, EachIsCaughtOnTheLowestRung) {
  expect_caught(optimizer_faults(), GetParam());
}

// The kernel written out is right where it is not told otherwise, to the bit.
TEST(PlantedAdamWKernel, IsHealthyByDefault) {
  const Workbench bench;
  const Fault none{"none", "adamw", plain_adamw(), "", "", ""};
  for (const Case& c : bench.suite("smoke")) {
    if (c.stage != "adamw") continue;
    const Record record = bench.run_faulty(none, Order::confirmed, c);
    EXPECT_EQ(record.verdict, Verdict::pass) << record.case_text << ": " << record.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(, PlantedOptimizer,
                         ::testing::Values(Order::confirmed, Order::broken, Order::withheld),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace parity::planted
