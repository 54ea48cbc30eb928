// What `parity run` costs around a kernel: one small case from its text to its record, on the CPU device.
#include <benchmark/benchmark.h>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

void run_case(benchmark::State& state, bool order_effects) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto devices = make_cpu_backend(ops)->devices();
  RunOptions options;
  options.order_effects = order_effects;
  Runner runner(ops, stages, *devices->front(), options);
  const auto c = parse_case("gemm m=16 n=16 k=16 in=f32", stages);
  for (auto _ : state) {
    const Record record = runner.run(*c, "sequential_f32");
    if (record.verdict != Verdict::pass) state.SkipWithError(record.reason.c_str());
    benchmark::DoNotOptimize(record);
  }
}

void RunSmallCase(benchmark::State& state) {
  run_case(state, false);
}
void RunSmallCaseWithOrderEffects(benchmark::State& state) {
  run_case(state, true);
}
BENCHMARK(RunSmallCase)->Unit(benchmark::kMicrosecond);
BENCHMARK(RunSmallCaseWithOrderEffects)->Unit(benchmark::kMicrosecond);

void ParseCase(benchmark::State& state) {
  const StageTable stages = make_stage_table(make_op_table());
  for (auto _ : state)
    benchmark::DoNotOptimize(
        parse_case("gemm m=64 n=63 k=588 ta=t alpha=0.5 in=f16 out=f16 fill=normal seed=7", stages));
}
BENCHMARK(ParseCase)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace parity
