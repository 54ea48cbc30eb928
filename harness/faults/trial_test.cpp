#include "harness/faults/trial.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "backends/cpu/faults/fault_kernels.hpp"
#include "harness/faults/plan.hpp"
#include "references/op_table.hpp"

namespace parity::faults {
namespace {

class Trials : public ::testing::Test {
 protected:
  OpTable ops = make_op_table();
  StageTable stages = make_stage_table(ops);
  std::unique_ptr<Backend> cpu = make_cpu_backend(ops);
  std::vector<std::unique_ptr<Device>> devices = *cpu->devices();

  std::unique_ptr<TrialRunner> runner(bool withhold_order = false) {
    return std::make_unique<TrialRunner>(ops, stages, *devices.front(), withhold_order, 2);
  }
  /// A change to the result of a gemm in fp32, on one path.
  TrialResult change(TrialRunner& trials, const std::string& kind, double severity, int position = 2,
                     const std::string& text = "gemm m=33 n=47 k=65") {
    CatalogueFault fault;
    fault.name = fault.what = kind;
    fault.corruption = kind;
    const Case c = *parse_case(text, stages);
    return trials.run({&fault, c, trials.paths_for(c, {}, false).front(), {severity, position, 1}, true},
                      nullptr);
  }
  static bool found(const TrialResult& result, Check check) {
    return result.findings[static_cast<std::size_t>(check)];
  }
};

TEST_F(Trials, OneWrongElementIsSeenByBitsAndBounds) {
  auto trials = runner();
  const TrialResult result = change(*trials, "element-scaled", 0.01);
  EXPECT_EQ(result.outcome, Outcome::caught) << result.reason;
  EXPECT_EQ(result.rung, 1);
  EXPECT_TRUE(found(result, Check::replay) && found(result, Check::hard) && found(result, Check::spread));
  EXPECT_FALSE(found(result, Check::repeats) || found(result, Check::guards));
  EXPECT_FALSE(result.thresholds[0] || result.thresholds[1]) << "one element is nothing to a cosine";
  EXPECT_GT(result.error, 1);
}

TEST_F(Trials, WithoutAnOrderBoundsDoAlone) {
  auto trials = runner(true);
  const TrialResult gross = change(*trials, "element-scaled", 0.01);
  EXPECT_EQ(gross.outcome, Outcome::caught);
  EXPECT_FALSE(found(gross, Check::replay));
  // A unit in the last place is within what any order of summation may give: missed, and said so.
  const TrialResult fine = change(*trials, "element-moved", 1);
  EXPECT_EQ(fine.outcome, Outcome::missed);
  EXPECT_EQ(change(*runner(), "element-moved", 1).outcome, Outcome::caught);
}

TEST_F(Trials, AFaultThatChangesNoBitIsIdle) {
  auto trials = runner();
  EXPECT_EQ(change(*trials, "element-scaled", 1e-12).outcome, Outcome::idle);
  EXPECT_EQ(change(*trials, "batch-repeated", 0).outcome, Outcome::idle);
  const CatalogueFault healthy;
  EXPECT_EQ(trials->healthy(*parse_case("gemm m=33 n=47 k=65", stages), "sequential_f32").verdict,
            Verdict::pass);
}

TEST_F(Trials, RacesPadsInputsAndStateAreSeen) {
  auto trials = runner();
  EXPECT_TRUE(found(change(*trials, "second-run-differs", 0.01), Check::repeats));
  EXPECT_TRUE(found(change(*trials, "input-overwritten", 0), Check::guards));
  EXPECT_TRUE(found(change(*trials, "pad-overwritten", 0, 0, "gemm m=33 n=47 k=65 pad_d=7"), Check::guards));
  EXPECT_TRUE(found(change(*trials, "element-unwritten", 0), Check::unwritten));
  EXPECT_TRUE(
      found(change(*trials, "element-moved", 1, 1, "gemm m=17 n=17 k=31 fill=integer"), Check::integer));
  EXPECT_TRUE(
      found(change(*trials, "nan-swallowed", 0, 0, "gemm m=17 n=17 k=31 fill=nan_cone"), Check::nan_cone));
  const TrialResult state =
      change(*trials, "state-not-carried", 0, 0, "training_step batch=2 seq=3 width=4 layers=1 steps=2");
  EXPECT_EQ(state.outcome, Outcome::caught);
  EXPECT_TRUE(found(state, Check::state)) << state.reason;
}

TEST_F(Trials, AFaultyKernelIsCaughtAndTheDeviceIsHealthyAfterwards) {
  auto trials = runner();
  CatalogueFault fault;
  fault.name = "rope-interleaved";
  const auto faulty = planted::make_faulty_cpu_device(ops, fault.name);
  ASSERT_NE(faulty, nullptr);
  const Case c = *parse_case("rope batch=2 seq=3 heads=2 head_dim=6 rotary=4", stages);
  const TrialResult result = trials->run({&fault, c, "sequential_f32", {}, true}, faulty.get());
  EXPECT_EQ(result.outcome, Outcome::caught);
  EXPECT_TRUE(result.thresholds[0]);
  Case other = c;
  other.seed = 7;
  EXPECT_EQ(trials->healthy(other, "sequential_f32").verdict, Verdict::pass);
  EXPECT_EQ(planted::make_faulty_cpu_device(ops, "no-such-fault"), nullptr);
}

// The changes of the catalogue at their nominal severity, where bits are the contract and where bounds and
// aggregates have to do alone.
TEST_F(Trials, EveryChangeOfTheCatalogueIsCaught) {
  std::ifstream stream(PARITY_CASES "/faults/results.txt");
  std::stringstream text;
  text << stream.rdbuf();
  const auto catalogue = parse_catalogue(text.str(), "results.txt");
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  for (const bool withheld : {false, true}) {
    auto trials = runner(withheld);
    const auto planned =
        plan_trials(*catalogue, *trials, {.seeds = 1, .only_nominal = true, .several_paths = false});
    ASSERT_TRUE(planned) << planned.error().message;
    for (const PlannedFault& plan : *planned) {
      // 64 units in the last place of one fp32 element are within what another order of summation gives.
      if (withheld && plan.fault->name == "element-moved") continue;
      EXPECT_FALSE(plan.trials.empty()) << plan.fault->name << ": " << plan.absent;
      int caught = 0;
      for (const Trial& trial : plan.trials) {
        const TrialResult result = trials->run(trial, nullptr);
        EXPECT_TRUE(result.outcome == Outcome::caught || result.outcome == Outcome::idle)
            << plan.fault->name << (withheld ? ", order withheld" : "") << ": " << name_of(result.outcome)
            << ", " << result.case_text << ", " << result.path << ", place " << result.position << ": "
            << result.reason;
        caught += result.outcome == Outcome::caught;
      }
      EXPECT_GT(caught, 0) << plan.fault->name << " acts nowhere";
    }
  }
}

TEST_F(Trials, PlansNameWhatCannotBeTried) {
  auto trials = runner();
  const auto catalogue = parse_catalogue(
      "fault here\nwhat w\ncase gemm m=5 n=5 k=5\nalso gemm m=7 n=5 k=5\nin cpu\n"
      "fault there\nwhat w\ncase gemm m=5 n=5 k=5\nin vulkan tiled.comp\n- a\n+ b\n"
      "fault never\nwhat w\ncase gemm m=5 n=5 k=5\nin cpu\nnot cpu nothing to race with\n"
      "fault result\nwhat w\ncase gemm m=5 n=5 k=5 in=f16\ncorrupt element-scaled\nseverities 1 0.1\nnominal "
      "1\npositions 2\n",
      "text");
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  const auto planned = plan_trials(*catalogue, *trials, {.seeds = 2});
  ASSERT_TRUE(planned);
  EXPECT_EQ((*planned)[0].trials.size(), 4u);
  EXPECT_EQ((*planned)[1].absent, "the cpu backend has no such kernel planted");
  EXPECT_EQ((*planned)[2].absent, "nothing to race with");
  // Two paths (a chain and a tensor core), two places and two seeds; the other severity on the first path.
  EXPECT_EQ((*planned)[3].trials.size(), 2u * 2 * 2 + 2 * 2);
}

}  // namespace
}  // namespace parity::faults
