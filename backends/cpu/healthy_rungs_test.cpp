// Healthy kernels of rungs 2 to 10 in five orders, over fills, sizes and seeds, the order declared and
// withheld: not one alarm. PARITY_HEALTHY_SUITE=ladder PARITY_HEALTHY_SEEDS=3 runs these rungs of a whole
// suite of cases/, with the seeds 1 to 3: the thousands that the false-alarm rate is quoted from.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/ladder/restated_device.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

/// A few of every rung, small.
const char* const few = R"(
gru_gate batch=3 hidden=17 activation={sigmoid,tanh} gradient=y fill={normal,positive,saturated,wide}
gru_cell batch=3 inputs=7 hidden=9 variant={linear_before_reset,reset_before} gradient=y fill={uniform,cancelling,rows_equal}
gru_sequence steps=3 batch=2 inputs=5 hidden=9 gradient=y fill={normal,saturated,zeros}
gru_sequence steps=5 batch=3 inputs=17 hidden=33 gradient=y fill=rows_equal seed=5
gru_stack layers=1 steps=2 batch=3 hidden=17 gradient=y fill={positive,wide,nan_cone}
rms_norm rows=5 cols=33 gradient=y fill={normal,positive,saturated,wide,subnormal}
qk_norm batch=2 seq=3 heads=2 head_dim=18 rotary=14 pairing={half_split,interleaved} gradient=y fill={normal,wide}
attention batch=2 seq=9 heads=4 kv_heads=2 head_dim=17 mask={n,y} gradient=y fill={normal,positive,saturated,rows_equal}
xsa rows=5 heads=4 kv_heads=2 head_dim=17 gradient=y fill={normal,positive,wide}
attention_block batch=2 seq=5 heads=4 kv_heads=2 head_dim=6 rotary=4 gradient=y fill={normal,uniform}
classifier rows=5 inputs=17 classes=33 gradient=y fill={normal,cancelling}
softmax_cross_entropy rows=5 classes=65 softcap={0,30} gradient=y fill={normal,positive,saturated,rows_equal}
embedding rows=37 vocabulary=5 width=17 gradient=y fill={normal,positive,integer}
gradient_reduction replicas=131 size=33 fill={normal,positive,cancelling,wide,integer,nan_cone}
grad_norm_clip tensors=3 rows=3 cols=33 fill={normal,positive,saturated}
adamw rows=3 cols=33 step={1,7} fill={normal,positive,wide}
muon rows=9 cols=17 fill={normal,positive}
ema rows=3 cols=33 fill={normal,wide,integer}
training_step batch=2 seq=4 width=8 steps=2 optimizer={adamw,muon}
)";

std::vector<Case> cases_to_run(const StageTable& stages) {
  const char* suite = std::getenv("PARITY_HEALTHY_SUITE");
  std::stringstream text;
  if (suite != nullptr)
    text << std::ifstream(std::string(PARITY_CASES) + "/" + suite + ".txt").rdbuf();
  else
    text << few;
  auto cases = parse_suite(text.str(), suite != nullptr ? suite : "few", stages);
  EXPECT_TRUE(cases) << cases.error().message;
  if (!cases) return {};
  std::erase_if(*cases, [&](const Case& c) { return stages.find(c.stage)->rung() < 2; });
  return *std::move(cases);
}

/// Results that were judged, each output of each call.
int judged_in(const Record& record) {
  int count = 0;
  for (const OutputRecord& output : record.outputs) count += output.calls;
  return count;
}

class HealthyRungs : public ::testing::TestWithParam<bool> {};

TEST_P(HealthyRungs, NoAlarm) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto devices = make_cpu_backend(ops)->devices();
  OrderWithheld withheld(*devices->front());
  Device& device = GetParam() ? withheld : *devices->front();
  Runner runner(ops, stages, device,
                {.repeats = 1, .order_effects = false, .inputs = {}, .provenance = {}, .repro_suffix = {}});
  const char* seeds = std::getenv("PARITY_HEALTHY_SEEDS");
  const std::uint64_t last = seeds != nullptr ? std::strtoull(seeds, nullptr, 10) : 1;
  int tensors = 0, runs = 0, alarms = 0;
  for (Case c : cases_to_run(stages))
    for (const std::uint64_t first = c.seed; c.seed < first + last; ++c.seed) {
      const auto paths = runner.paths_for(c);
      ASSERT_TRUE(paths) << paths.error().message;
      for (const std::string& path : *paths) {
        const Record record = runner.run(c, path);
        tensors += judged_in(record);
        ++runs;
        if (record.verdict == Verdict::pass) continue;
        if (++alarms <= 20)
          ADD_FAILURE() << record.repro << ": " << name_of(record.verdict) << ": " << record.reason;
      }
    }
  RecordProperty("tensors", tensors);
  RecordProperty("alarms", alarms);
  std::printf("%d healthy tensors in %d runs, %d alarms\n", tensors, runs, alarms);
  EXPECT_EQ(alarms, 0);
  EXPECT_GT(tensors, 0);
}

INSTANTIATE_TEST_SUITE_P(Order, HealthyRungs, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "withheld" : "declared"; });

}  // namespace
}  // namespace parity
