// Faults of RMS normalisation and of the reductions that make gradients of weights, each on the case that
// shows it.
#include <gtest/gtest.h>

#include "backends/cpu/planted_testing.hpp"

namespace parity::planted {
namespace {

class PlantedNorm : public ::testing::TestWithParam<Order> {};

TEST_P(PlantedNorm, EachIsCaughtOnTheLowestRung) {
  expect_caught(norm_faults(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(, PlantedNorm, ::testing::Values(Order::confirmed, Order::broken, Order::withheld),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace parity::planted
