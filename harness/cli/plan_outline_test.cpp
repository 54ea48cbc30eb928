#include "harness/cli/plan_outline.hpp"

#include <gtest/gtest.h>

namespace parity::cli {
namespace {

PlanOutline plan_on(const std::string& id, const std::string& name) {
  PlanOutline plan;
  plan.groups.emplace_back();
  plan.groups[0].device.backend = "cuda";
  plan.groups[0].device.id = id;
  plan.groups[0].device.name = name;
  plan.items.push_back({0, "gemm", "gemm m=1 n=1 k=1", "tiled_f32", 1, 2});
  return plan;
}

/// An engine gives each shard a device of its own.
TEST(PlanOutline, IsTheSameOnEqualDevicesOfOtherNumbers) {
  const PlanOutline plan = plan_on("cuda:0", "H200");
  EXPECT_EQ(identity_of(plan), identity_of(plan_on("cuda:1", "H200")));
  EXPECT_NE(identity_of(plan), identity_of(plan_on("cuda:0", "H100")));
  PlanOutline other = plan;
  other.items[0].path = "naive_f32";
  EXPECT_NE(identity_of(plan), identity_of(other));
}

}  // namespace
}  // namespace parity::cli
