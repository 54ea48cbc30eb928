#include <benchmark/benchmark.h>

#include "harness/base/memory.hpp"

int main(int argc, char** argv) {
  parity::keep_freed_memory();  // as the command does
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
