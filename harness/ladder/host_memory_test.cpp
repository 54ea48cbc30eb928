#include "harness/ladder/host_memory.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace parity {
namespace {

Program product(std::int64_t m, std::int64_t n, std::int64_t k) {
  using Role = TensorSpec::Role;
  Program program;
  program.tensors = {{"A", DType::f32, {m, k}, {k, 1}, Role::input},
                     {"B", DType::f32, {k, n}, {n, 1}, Role::input},
                     {"D", DType::f32, {m, n}, {n, 1}, Role::output}};
  return program;
}

TEST(HostMemory, NeededGrowsWithTheTensorsAndNeverOverflows) {
  const double small = host_bytes_needed(product(64, 64, 64), 3);
  EXPECT_GT(small, 3 * 64 * 64 * 4);
  EXPECT_LT(small, 2e6);
  // Measured peaks of the command: 1610 MiB and 526 MiB.
  EXPECT_NEAR(host_bytes_needed(product(4096, 4096, 16), 3) / 1048576, 1610, 200);
  EXPECT_NEAR(host_bytes_needed(product(4096, 16, 4096), 3) / 1048576, 500, 100);
  const double huge = host_bytes_needed(product(std::int64_t{1} << 62, std::int64_t{1} << 62, 3), 3);
  EXPECT_TRUE(std::isfinite(huge));
  EXPECT_GT(huge, 1e38);
  EXPECT_LT(host_bytes_needed(product(0, std::int64_t{1} << 40, 0), 3), 4096);
}

TEST(HostMemory, AvailableIsWhatAMachineCanHave) {
  const double available = host_bytes_available();
  EXPECT_GT(available, 1e6);
  EXPECT_LT(available, 1e15);
}

}  // namespace
}  // namespace parity
