// Healthy paths of every order over fills, sizes and seeds: not one alarm. PARITY_HEALTHY_SEEDS=40 runs the
// thousands that the false-alarm rate is quoted from.
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/ladder/restated_device.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

/// Sums of which every order gives the same bits, because their terms are equal or zero: all errors have one
/// sign, and the spread of a random path says nothing about them.
TEST(HealthyOrderWithheld, LongSumsOfEqualTermsAndZeros) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto devices = *make_cpu_backend(ops)->devices();
  OrderWithheld withheld(*devices.front());
  for (const std::int64_t rows : {1000, 100000}) {
    for (const std::int64_t every : {1, 3}) {
      Tensor x = *Tensor::create(DType::f32, {rows, 4});
      for (std::int64_t i = 0; i < x.elements(); ++i)
        x.set_value(i, i / 4 % every == 0 ? 0.3 + 0.17 * static_cast<double>(i % 4) : 0);
      for (Device* device : {static_cast<Device*>(&withheld), devices.front().get()}) {
        Runner runner(ops, stages, *device, {.repeats = 1, .order_effects = false, .inputs = {{"x", x}}});
        const Case c =
            *parse_case("gradient_reduction replicas=" + std::to_string(rows) + " size=4 in=f32", stages);
        for (const char* path : {"sequential_f32", "strided_f32"}) {
          const Record record = runner.run(c, path);
          EXPECT_EQ(record.verdict, Verdict::pass)
              << path << " " << rows << " " << every << ": " << record.reason;
        }
      }
    }
  }
}

class Healthy : public ::testing::TestWithParam<bool> {};

TEST_P(Healthy, NoAlarm) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto devices = make_cpu_backend(ops)->devices();
  OrderWithheld withheld(*devices->front());
  Device& device = GetParam() ? withheld : *devices->front();
  Runner runner(ops, stages, device,
                {.repeats = 1, .order_effects = false, .inputs = {}, .provenance = {}, .repro_suffix = {}});

  const char* seeds = std::getenv("PARITY_HEALTHY_SEEDS");
  const int last = seeds != nullptr ? std::atoi(seeds) : 2;
  const std::string tail =
      " fill={normal,uniform,integer,selector,positive,cancelling,wide,overflow,subnormal,nan_cone} "
      "seed={1.." +
      std::to_string(last) + "}";
  int tensors = 0, alarms = 0;
  for (const std::string pattern :
       {"gemm m=17 n=33 k={65,588} in=f32", "gemm m=48 n=40 k=256 ta={n,t} in=f16 out={f16,f32}",
        "gemm m=31 n=1 k=63 batch=3 alpha=0.5 beta=0.7 in=bf16 out={bf16,f32}", "gemm m=16 n=24 k=96 in=f64",
        "linear m=33 n=17 k=128 activation={identity,relu,leaky_relu_squared,sigmoid,tanh} in=f16 "
        "out={f16,f32}"}) {
    const auto cases = expand_pattern(pattern + tail, stages);
    ASSERT_TRUE(cases) << cases.error().message;
    for (const Case& c : *cases) {
      const auto paths = runner.paths_for(c);
      ASSERT_TRUE(paths) << paths.error().message;
      for (const std::string& path : *paths) {
        const Record record = runner.run(c, path);
        tensors += static_cast<int>(record.outputs.size());
        EXPECT_GT(record.reference_seconds, 0) << record.repro;
        for (const OutputRecord& output : record.outputs) EXPECT_NE(output.bits, 0u) << record.repro;
        if (record.verdict == Verdict::pass) continue;
        // Without a known order, sums that cancel are smaller than what an order may do to them: zeros would
        // pass, and the case says so. That is no alarm.
        if (GetParam() && record.verdict == Verdict::untrusted && c.fill == Fill::cancelling &&
            record.reason.find("zeroed") != std::string::npos)
          continue;
        ++alarms;
        if (alarms <= 20)
          ADD_FAILURE() << record.repro << ": " << name_of(record.verdict) << ": " << record.reason;
      }
    }
  }
  RecordProperty("tensors", tensors);
  RecordProperty("alarms", alarms);
  std::printf("%d healthy tensors, %d alarms\n", tensors, alarms);
  EXPECT_EQ(alarms, 0);
  EXPECT_GT(tensors, 0);
}

INSTANTIATE_TEST_SUITE_P(Order, Healthy, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "withheld" : "declared"; });

}  // namespace
}  // namespace parity
