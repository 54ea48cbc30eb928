// Bandwidth of the statistics pass beside a plain read of the same bytes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/numerics/statistics_pass.hpp"
#include "harness/tensor/fill.hpp"

namespace {

using namespace parity;

constexpr std::int64_t side = 4096;

struct Data {
  Tensor got;
  Value want;
  Contract contract;
  std::int64_t bytes = 0;
};

/// A healthy result: the reference rounded to the store, with bounds as of a GEMM with K = 4096.
Data make(DType store, bool all_arrays) {
  Data d;
  d.got = Tensor::create(store, {side, side}).value();
  fill_tensor(d.got, {.fill = Fill::normal, .store = store});
  const auto n = static_cast<std::size_t>(side * side);
  d.want.rows = d.want.cols = side;
  d.want.v = to_doubles(d.got);
  // Errors of up to a few ulp of fp32, as a healthy accumulator leaves them.
  for (std::size_t i = 0; i < n; ++i)
    d.want.v[i] *= 1 + 0x1p-24 * (static_cast<double>(i * 2654435761U % 4096) / 512 - 4);
  d.want.hard.assign(n, 0x1p-10);
  d.want.variance.assign(n, 0x1p-40);
  d.bytes = static_cast<std::int64_t>(n * (size_of(store) + 3 * sizeof(double)));
  if (all_arrays) {
    d.want.systematic.assign(n, 0x1p-24);
    d.want.mean.assign(n, -0x1p-26);
    d.bytes += static_cast<std::int64_t>(n * 2 * sizeof(double));
  }
  d.contract.store = store;
  d.contract.order_known = true;
  return d;
}

std::uint64_t read_words(const void* from, std::size_t bytes) {
  const auto* words = static_cast<const std::uint64_t*>(from);
  const auto count = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
  std::uint64_t total = 0;
#pragma omp parallel for reduction(+ : total) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) total += words[i];
  return total;
}

void plain_read(benchmark::State& state, DType store, bool all_arrays) {
  const Data d = make(store, all_arrays);
  for (auto _ : state) {
    std::uint64_t total = read_words(d.got.bytes().data(), d.got.bytes().size());
    for (const auto* a : {&d.want.v, &d.want.hard, &d.want.systematic, &d.want.mean, &d.want.variance}) {
      total += read_words(a->data(), a->size() * sizeof(double));
    }
    benchmark::DoNotOptimize(total);
  }
  state.SetBytesProcessed(state.iterations() * d.bytes);
}

void statistics(benchmark::State& state, DType store, bool all_arrays) {
  const Data d = make(store, all_arrays);
  for (auto _ : state) benchmark::DoNotOptimize(measure(d.got, d.want, d.contract));
  state.SetBytesProcessed(state.iterations() * d.bytes);
}

}  // namespace

#define PAIR(name, store, all)                                                                   \
  BENCHMARK_CAPTURE(plain_read, name, store, all)->UseRealTime()->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(statistics, name, store, all)->UseRealTime()->Unit(benchmark::kMillisecond)
PAIR(f32_bounds, parity::DType::f32, false);
PAIR(f32_all_arrays, parity::DType::f32, true);
PAIR(f16_bounds, parity::DType::f16, false);
PAIR(f16_all_arrays, parity::DType::f16, true);
