#include "bench/crossover.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/cpu_backend.hpp"
#include "bench/host_baseline.hpp"
#include "harness/ladder/program_reference.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

SizeTimes times(std::int64_t size, double device, double round_trip, double host) {
  return {size, device, round_trip, host, 1};
}

TEST(Crossover, IsTheSizeFromWhichOnTheDeviceOnlyWins) {
  const std::vector<SizeTimes> run = {times(16, 2, 9, 1), times(32, 2, 9, 3), times(64, 3, 9, 8),
                                      times(128, 4, 9, 10)};
  EXPECT_EQ(crossover_by_round_trip(run).kind, Crossover::Kind::from);
  EXPECT_EQ(crossover_by_round_trip(run).size, 128);
  EXPECT_EQ(crossover_by_device_time(run).size, 32);
}

TEST(Crossover, OverAllSizesAndOverSome) {
  const std::vector<SizeTimes> wins = {times(16, 1, 1, 2), times(32, 1, 1, 2)};
  const std::vector<SizeTimes> loses = {times(16, 3, 3, 2), times(32, 2, 2, 2)};
  const std::vector<SizeTimes> first = {times(16, 1, 1, 2), times(32, 3, 3, 2)};
  const std::vector<SizeTimes> gap = {times(16, 1, 1, 2), times(32, 3, 3, 2), times(64, 1, 1, 2)};
  EXPECT_EQ(crossover_by_round_trip(wins).kind, Crossover::Kind::wins);
  EXPECT_EQ(crossover_by_round_trip(loses).kind, Crossover::Kind::loses);
  EXPECT_EQ(crossover_by_round_trip(first).kind, Crossover::Kind::mixed);
  EXPECT_EQ(crossover_by_round_trip(gap).kind, Crossover::Kind::mixed);
  EXPECT_EQ(crossover_by_round_trip(gap).won, (std::vector<std::int64_t>{16, 64}));
  EXPECT_EQ(crossover_by_round_trip({}).kind, Crossover::Kind::unmeasured);
  EXPECT_EQ(crossover_by_device_time(std::vector<SizeTimes>{{16, std::nullopt, 1, 2, 1}}).kind,
            Crossover::Kind::unmeasured);
}

TEST(Crossover, TheTextNamesDevicePathAndSize) {
  CrossoverRun run;
  run.device.id = "vulkan:0";
  run.stage = "gemm";
  run.path = "tiled_f32";
  run.times = {times(128, 3e-6, 9e-6, 5e-6), times(192, 3e-6, 9e-6, 1.2345e-2)};
  EXPECT_EQ(verdict_text(run),
            "vulkan:0 loses to the CPU below n = 192 (gemm tiled_f32, round trip); by device time alone it "
            "beats the "
            "CPU at every size from n = 128 to 192");
  const std::string text = crossover_text(run);
  EXPECT_NE(text.find("12345"), std::string::npos) << text;
  EXPECT_NE(text.find("0.56"), std::string::npos) << text;
  run.times[0].device = 9e-6;
  EXPECT_EQ(verdict_text(run),
            "vulkan:0 loses to the CPU below n = 192 (gemm tiled_f32, by round trip and by device time)");
  run.times[0].device.reset();
  run.times[1].device.reset();
  EXPECT_EQ(verdict_text(run), "vulkan:0 loses to the CPU below n = 192 (gemm tiled_f32, round trip)");
  run.times.clear();
  run.note = "no fp16";
  EXPECT_EQ(verdict_text(run), "vulkan:0: gemm tiled_f32 was not timed: no fp16");
}

class Baseline : public ::testing::Test {
 protected:
  OpTable ops_ = make_op_table();
  StageTable stages_ = make_stage_table(ops_);

  struct Results {
    std::vector<float> got;
    std::vector<double> want;
  };
  /// The baseline's result and the exact reference's of the same inputs.
  Results results_of(const std::string& text) {
    const Case c = parse_case(text, stages_).value();
    const Program program = stages_.find(c.stage)->build(c).value();
    std::map<TensorId, Tensor> inputs;
    TensorId output = no_tensor;
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      if (program.tensors[i].role == TensorSpec::Role::input)
        inputs.emplace(id, stages_.find(c.stage)->fill(c, program, id).value());
      if (program.tensors[i].role == TensorSpec::Role::output) output = id;
    }
    const auto baseline = make_host_baseline(c, program, inputs);
    EXPECT_TRUE(baseline) << baseline.error().message;
    if (!baseline) return {};
    (*baseline)->run();
    (*baseline)->run();  // a run leaves nothing behind for the next
    const auto got = (*baseline)->result();
    return {{got.begin(), got.end()}, evaluate_exactly(ops_, program, inputs).value().values.at(output).v};
  }
};

TEST_F(Baseline, AProductOfIntegersIsExact) {
  for (const char* layout : {"", " ta=t", " tb=t", " ta=t tb=t"}) {
    const Results results =
        results_of(std::string("gemm m=33 n=17 k=65") + layout + " pad_a=3 in=f16 out=f32 fill=integer");
    ASSERT_EQ(results.got.size(), 33u * 17u);
    for (std::size_t i = 0; i < results.got.size(); ++i)
      ASSERT_EQ(static_cast<double>(results.got[i]), results.want[i]) << layout << " at " << i;
  }
}

TEST_F(Baseline, TheGruCellIsTheReferencesWithinFp32) {
  for (const char* batch : {"batch=3", "batch=600"}) {  // gates on one thread, and on all
    const Results results = results_of(std::string("gru_cell inputs=17 hidden=33 ") + batch);
    ASSERT_EQ(results.got.size(), results.want.size());
    ASSERT_FALSE(results.got.empty());
    double worst = 0;
    for (std::size_t i = 0; i < results.got.size(); ++i)
      worst = std::max(worst, std::fabs(static_cast<double>(results.got[i]) - results.want[i]));
    // Values are below 1 in size; a wrong gate or sign is off by 0.01 and more, roundings by some 1e-7.
    EXPECT_LT(worst, 1e-5) << batch;
  }
}

TEST_F(Baseline, OtherCasesHaveNone) {
  const std::vector<std::string> cases = {"gemm m=2 n=2 k=2 batch=2", "gemm m=2 n=2 k=2 alpha=2",
                                          "gru_cell batch=1 inputs=2 hidden=2 variant=reset_before",
                                          "rms_norm rows=2 cols=2"};
  for (const std::string& text : cases) {
    const Case c = parse_case(text, stages_).value();
    const auto baseline = make_host_baseline(c, stages_.find(c.stage)->build(c).value(), {});
    ASSERT_FALSE(baseline) << text;
    EXPECT_EQ(baseline.error().kind, ErrorKind::unsupported);
  }
}

TEST_F(Baseline, TimesOfTheCpuDeviceAreMeasured) {
  const auto backend = make_cpu_backend(ops_);
  const auto devices = backend->devices().value();
  TimingOptions quick;
  quick.warm_up_seconds = quick.seconds = 0;
  for (const char* text : {"gemm m=8 n=8 k=8", "gru_cell batch=2 inputs=8 hidden=8"}) {
    const Case c = parse_case(text, stages_).value();
    const auto measured = time_case(*devices.front(), *stages_.find(c.stage), c, "sequential_f32", 8, quick);
    ASSERT_TRUE(measured) << measured.error().message;
    EXPECT_EQ(measured->size, 8);
    EXPECT_GT(measured->round_trip, 0);
    EXPECT_GT(measured->host, 0);
    EXPECT_GE(measured->host_threads, 1);
    const auto refused = time_case(*devices.front(), *stages_.find(c.stage), c, "no_such_path", 8, quick);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  }
}

}  // namespace
}  // namespace parity
