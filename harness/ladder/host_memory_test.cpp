#include "harness/ladder/host_memory.hpp"
#include "harness/base/sanitized.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

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

TEST(HostMemory, ALimitOnTheDataOfTheProcessCounts) {
  if (address_sanitized)
    GTEST_SKIP() << "the sanitizer's own memory counts as data, and it ends the process when it gets no more";
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &old), 0);
  if (host_bytes_available() < 1e9) GTEST_SKIP() << "less than the limit is there anyway";
  // What the process has so far is far below a gigabyte.
  const rlimit tight{rlim_t{1} << 30, old.rlim_max};
  if (::setrlimit(RLIMIT_DATA, &tight) != 0) GTEST_SKIP() << "a tighter limit stands";
  const double available = host_bytes_available();
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &old), 0);
  EXPECT_LE(available, 0x1p30);
  EXPECT_GT(available, 0x1p28);
}

/// A tree of files as the kernel shows its control groups.
class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "control_groups_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  double leave() const { return control_groups_leave(root / "cgroup", root); }

  std::filesystem::path root;
};

TEST_F(ControlGroups, NoneIsNoLimit) {
  EXPECT_EQ(leave(), HUGE_VAL);
  write("cgroup", "4:memory:/a\n0::/a\n");
  EXPECT_EQ(leave(), HUGE_VAL);
}

TEST_F(ControlGroups, Version2TheTightestOfThoseAround) {
  write("cgroup", "0::/outer/inner\n");
  write("outer/inner/memory.max", "max\n");
  write("outer/inner/memory.current", "10\n");
  EXPECT_EQ(leave(), HUGE_VAL);
  write("outer/memory.max", "5000\n");
  write("outer/memory.current", "1000\n");
  write("outer/memory.stat", "anon 700\nfile 300\n");
  EXPECT_EQ(leave(), 4300);
}

TEST_F(ControlGroups, Version1BesideOtherControllers) {
  write("cgroup", "9:cpu,cpuacct:/\n4:memory:/group\n0::/\n");
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("memory/memory.usage_in_bytes", "70000\n");
  EXPECT_GT(leave(), 1e18);
  write("memory/group/memory.limit_in_bytes", "9000\n");
  write("memory/group/memory.usage_in_bytes", "4000\n");
  write("memory/group/memory.stat", "cache 1\ntotal_cache 500\n");
  EXPECT_EQ(leave(), 5500);
}

}  // namespace
}  // namespace parity
