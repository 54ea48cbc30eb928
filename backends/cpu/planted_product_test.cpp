// Faults of products (rung 1), each on the case that shows it.
#include <gtest/gtest.h>

#include "backends/cpu/planted_testing.hpp"

namespace parity::planted {
namespace {

class PlantedProducts : public ::testing::TestWithParam<Order> {};

TEST_P(PlantedProducts, EachIsCaught) {
  expect_caught(product_faults(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(, PlantedProducts,
                         ::testing::Values(Order::confirmed, Order::broken, Order::withheld),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace parity::planted
