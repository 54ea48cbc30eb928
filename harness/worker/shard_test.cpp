#include "harness/worker/shard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace parity {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Shard> shard(const std::string& text, const Variables& variables = {}) {
  return parse_shard(text, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string text_of(const Result<Shard>& shard) {
  return shard ? shard->text() : "error: " + shard.error().message;
}

TEST(Shard, IsANumberAndATotal) {
  EXPECT_EQ(text_of(shard("1/1")), "1/1");
  EXPECT_EQ(text_of(shard("4/4")), "4/4");
  for (const char* bad : {"", "1", "/", "1/", "/4", "0/4", "5/4", "-1/4", "1/0", "a/4", "1/4x", "1/2/3",
                          "auto/0", "auto/", "auto/x", "1/999999999"}) {
    ASSERT_FALSE(shard(bad)) << bad;
    EXPECT_EQ(shard(bad).error().kind, ErrorKind::bad_input);
  }
}

TEST(Shard, EnginesNumberTheirJobsInTheEnvironment) {
  EXPECT_EQ(text_of(shard("auto", {{"GTEST_SHARD_INDEX", "0"}, {"GTEST_TOTAL_SHARDS", "3"}})), "1/3");
  EXPECT_EQ(text_of(shard("auto", {{"SLURM_ARRAY_TASK_ID", "7"},
                                   {"SLURM_ARRAY_TASK_COUNT", "4"},
                                   {"SLURM_ARRAY_TASK_MIN", "5"}})),
            "3/4");
  // sbatch --array=1-7:2
  EXPECT_EQ(text_of(shard("auto", {{"SLURM_ARRAY_TASK_ID", "5"},
                                   {"SLURM_ARRAY_TASK_COUNT", "4"},
                                   {"SLURM_ARRAY_TASK_MIN", "1"},
                                   {"SLURM_ARRAY_TASK_STEP", "2"}})),
            "3/4");
  EXPECT_EQ(text_of(shard("auto/8", {{"JOB_COMPLETION_INDEX", "7"}})), "8/8");
}

TEST(Shard, NothingHappensSilently) {
  const auto refused = [](const std::string& text, const Variables& variables, const std::string& part) {
    const auto result = shard(text, variables);
    ASSERT_FALSE(result) << result->text();
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  };
  // Without being asked, the environment counts for nothing.
  EXPECT_EQ(text_of(shard("2/4", {{"GTEST_SHARD_INDEX", "0"}, {"GTEST_TOTAL_SHARDS", "3"}})), "2/4");
  refused("auto", {}, "none of GTEST_SHARD_INDEX, SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX is set");
  refused("auto", {{"JOB_COMPLETION_INDEX", "1"}}, "give the total");
  refused("auto/4", {{"JOB_COMPLETION_INDEX", "4"}}, "none of 4 jobs");
  refused("auto/4", {{"GTEST_SHARD_INDEX", "0"}, {"GTEST_TOTAL_SHARDS", "3"}}, "GTEST_TOTAL_SHARDS is 3");
  refused("auto", {{"GTEST_SHARD_INDEX", "x"}, {"GTEST_TOTAL_SHARDS", "3"}}, "no whole number");
  refused("auto/4", {{"JOB_COMPLETION_INDEX", "1"}, {"SLURM_ARRAY_TASK_ID", "3"}}, "give the shard itself");
}

TEST(Shard, CTestSaysWhichDevicesATestHas) {
  const auto devices = [](const Variables& variables) {
    return ctest_devices([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  const auto two = devices({{"CTEST_RESOURCE_GROUP_COUNT", "2"},
                            {"CTEST_RESOURCE_GROUP_0", "cuda,vulkan"},
                            {"CTEST_RESOURCE_GROUP_0_CUDA", "id:1,slots:1;id:3,slots:2"},
                            {"CTEST_RESOURCE_GROUP_0_VULKAN", "id:0,slots:1"},
                            {"CTEST_RESOURCE_GROUP_1", "cuda"},
                            {"CTEST_RESOURCE_GROUP_1_CUDA", "id:1,slots:1"}});
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(*two, (std::vector<std::string>{"cuda:1", "cuda:3", "vulkan:0"}));
  for (const Variables& wrong : {Variables{},
                                 {{"CTEST_RESOURCE_GROUP_COUNT", "x"}},
                                 {{"CTEST_RESOURCE_GROUP_COUNT", "1"}},
                                 {{"CTEST_RESOURCE_GROUP_COUNT", "1"},
                                  {"CTEST_RESOURCE_GROUP_0", "cuda"},
                                  {"CTEST_RESOURCE_GROUP_0_CUDA", "slots:1"}},
                                 {{"CTEST_RESOURCE_GROUP_COUNT", "1"},
                                  {"CTEST_RESOURCE_GROUP_0", "cuda"},
                                  {"CTEST_RESOURCE_GROUP_0_CUDA", ","}}}) {
    ASSERT_FALSE(devices(wrong));
    EXPECT_EQ(devices(wrong).error().kind, ErrorKind::bad_input);
  }
}

TEST(Shard, EveryItemIsInOneShardAndTheyAreBalanced) {
  std::vector<double> costs;
  for (int i = 0; i < 1000; ++i) costs.push_back(1 + (i * 7919) % 97);
  costs.push_back(3000);
  const auto of = share_out(costs, 7);
  EXPECT_EQ(of, share_out(costs, 7));
  std::vector<double> loads(7, 0);
  for (std::size_t i = 0; i < costs.size(); ++i) loads.at(of[i] - 1) += costs[i];
  const auto [least, most] = std::ranges::minmax(loads);
  EXPECT_LE(most - least, 97);
  // More shards than items leave some empty.
  EXPECT_EQ(share_out(std::vector<double>{1, 2}, 4), (std::vector<std::size_t>{2, 1}));
}

TEST(Shard, UnknownTimesFollowTheKnownOnes) {
  const std::vector<CostHint> hints = {{4.0, "gemm", 1e6},
                                       {std::nullopt, "gemm", 1e6},
                                       {std::nullopt, "gemm", 1e9},
                                       {std::nullopt, "rope", 1e6}};
  const auto costs = estimate_costs(hints);
  EXPECT_EQ(costs[0], 4.0);
  EXPECT_DOUBLE_EQ(costs[1], 4.0);
  EXPECT_GT(costs[2], 100.0);
  EXPECT_DOUBLE_EQ(costs[3], 4.0);
  // Nothing known: more operations cost more, none still something.
  const std::vector<CostHint> blind = {{std::nullopt, "gemm", 0}, {std::nullopt, "gemm", 1e9}};
  EXPECT_GT(estimate_costs(blind)[0], 0);
  EXPECT_GT(estimate_costs(blind)[1], estimate_costs(blind)[0]);
}

}  // namespace
}  // namespace parity
