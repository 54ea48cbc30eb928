// Faults of the recurrent rungs (2 to 5), each on the case that shows it.
#include <gtest/gtest.h>

#include "backends/cpu/planted_testing.hpp"

namespace parity::planted {
namespace {

class PlantedRecurrent : public ::testing::TestWithParam<Order> {};

TEST_P(PlantedRecurrent, EachIsCaughtOnTheLowestRung) {
  expect_caught(recurrent_faults(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(, PlantedRecurrent,
                         ::testing::Values(Order::confirmed, Order::broken, Order::withheld),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace parity::planted
