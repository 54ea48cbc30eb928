// Faults of rotation, attention and the normalisation of heads (rung 6), each on the case that shows it.
#include <gtest/gtest.h>

#include "backends/cpu/planted_testing.hpp"

namespace parity::planted {
namespace {

class PlantedAttention : public ::testing::TestWithParam<Order> {};

TEST_P(PlantedAttention, EachIsCaughtOnTheLowestRung) {
  expect_caught(attention_faults(), GetParam());
}

// The plain kernel is right where it is not told otherwise: the faults are what is caught.
TEST(PlantedAttentionKernel, IsHealthyByDefault) {
  const Workbench bench;
  const Fault none{"none", "attention", plain_attention(), "", "", ""};
  for (const Case& c : bench.suite("smoke")) {
    if (!bench.uses(c, "attention") || c.input == DType::f64) continue;
    const Record record = bench.run_faulty(none, Order::withheld, c);
    // Without an order, exp's bound exceeds the results of this fill: the case proves nothing and says so.
    const bool proves_nothing = c.fill == Fill::wide && record.verdict == Verdict::untrusted;
    EXPECT_TRUE(record.verdict == Verdict::pass || proves_nothing)
        << record.case_text << ": " << record.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(, PlantedAttention,
                         ::testing::Values(Order::confirmed, Order::broken, Order::withheld),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace parity::planted
