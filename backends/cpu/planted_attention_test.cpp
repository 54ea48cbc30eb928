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
    EXPECT_EQ(record.verdict, Verdict::pass) << record.case_text << ": " << record.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(, PlantedAttention,
                         ::testing::Values(Order::confirmed, Order::broken, Order::withheld),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace parity::planted
