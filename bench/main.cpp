#include <benchmark/benchmark.h>

#include "harness/base/memory.hpp"

namespace parity {
void register_replay_benchmarks();  // replay_bench.cpp: their names hold more than a function's may
}

int main(int argc, char** argv) {
  parity::keep_freed_memory();  // as the command does
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  parity::register_replay_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
