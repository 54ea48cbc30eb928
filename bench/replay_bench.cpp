// How fast a replay emulates a device: multiply-adds per second of the emulated matmul, for the arithmetics
// that kernels have. The budget of a replay (harness/ladder/replay.hpp) follows from these figures.
#include <benchmark/benchmark.h>

#include <memory>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/summation_tree.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

using Kind = SummationOrder::Kind;

struct Formats {
  DType input = DType::f32, accumulate = DType::f32;
  bool tf32 = false;
};

ArithmeticModel replayed_model(const Formats& formats, const Accumulation& accumulation) {
  ArithmeticModel model;
  model.precision.input = formats.input;
  model.precision.multiply = formats.tf32 ? tf32_format : format_of(formats.input);
  model.precision.accumulate = formats.accumulate;
  model.accumulation = accumulation;
  return model;
}

Tensor filled_matrix(DType dtype, std::int64_t rows, std::int64_t cols, std::uint32_t stream) {
  Tensor tensor = *Tensor::create(dtype, {rows, cols});
  FillRequest request;
  request.stream = stream;
  request.reduction_length = stream == 0 ? cols : rows;
  fill_tensor(tensor, request);
  return tensor;
}

void replay_rate(benchmark::State& state, const Formats& formats, const Accumulation& accumulation) {
  const std::int64_t n = state.range(0);
  auto arithmetic = make_emulated_arithmetic(replayed_model(formats, accumulation));
  if (!arithmetic) return state.SkipWithError(arithmetic.error().message.c_str());
  const Value a = (*arithmetic)->load(filled_matrix(formats.input, n, n, 0));
  const Value b = (*arithmetic)->load(filled_matrix(formats.input, n, n, 1));
  for (auto _ : state) {
    const Value c = (*arithmetic)->matmul(a, false, b, false);
    benchmark::DoNotOptimize(c.v.data());
  }
  const auto size = static_cast<double>(n);
  state.counters["multiply-adds/s"] =
      benchmark::Counter(size * size * size, benchmark::Counter::kIsIterationInvariantRate);
}

Accumulation chain(MultiplyAdd how, SummationOrder order = {}) {
  return {std::move(order), how, {}};
}
Accumulation adder(int terms, int fraction_bits, SummationOrder order = {}) {
  return {std::move(order), MultiplyAdd::multi_term, {terms, fraction_bits}};
}
/// Chains of eight terms, whose sums meet in a balanced tree, as a tree and not by any name.
Accumulation by_tree(std::int64_t terms, MultiplyAdd how) {
  SummationTreeBuilder builder;
  std::vector<std::int32_t> sums;
  for (std::int64_t first = 0; first < terms; first += 8) {
    std::int32_t sum = builder.term(first);
    for (std::int64_t k = first + 1; k < first + 8; ++k) sum = builder.add(sum, builder.term(k));
    sums.push_back(sum);
  }
  for (; sums.size() > 1; sums.resize(sums.size() / 2))
    for (std::size_t i = 0; i < sums.size() / 2; ++i) sums[i] = builder.add(sums[2 * i], sums[2 * i + 1]);
  SummationOrder order{Kind::tree, 0, 0, std::make_shared<const SummationTree>(*builder.finish(sums[0]))};
  return {std::move(order), how, {}};
}
/// Steps of 16 terms and the sum before them, as a tree.
Accumulation by_fused_tree(std::int64_t terms) {
  SummationTreeBuilder builder;
  std::int32_t sum = SummationTreeBuilder::nothing;
  for (std::int64_t first = 0; first < terms; first += 16) {
    std::vector<std::int32_t> parts{sum};
    for (std::int64_t k = first; k < first + 16; ++k) parts.push_back(builder.term(k));
    sum = builder.add(parts);
  }
  SummationOrder order{Kind::tree, 0, 0, std::make_shared<const SummationTree>(*builder.finish(sum))};
  return {std::move(order), MultiplyAdd::multi_term, {16, 25}};
}

void replay_sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(512)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);
}
void register_replay(const char* name, Formats formats, const Accumulation& accumulation) {
  replay_sizes(benchmark::RegisterBenchmark(
      name, [formats, accumulation](benchmark::State& state) { replay_rate(state, formats, accumulation); }));
}
void register_tree(const char* name, Formats formats, Accumulation (*make)(std::int64_t)) {
  replay_sizes(benchmark::RegisterBenchmark(
      name, [formats, make](benchmark::State& state) { replay_rate(state, formats, make(state.range(0))); }));
}

}  // namespace

void register_replay_benchmarks() {
  const Formats f32, f16{DType::f16, DType::f32}, bf16{DType::bf16, DType::f32}, half{DType::f16, DType::f16},
      tf32{DType::f32, DType::f32, true};
  register_replay("replay/f32 fma, sequential", f32, chain(MultiplyAdd::fused));
  register_replay("replay/f32 mul+add, sequential", f32, chain(MultiplyAdd::separate));
  register_replay("replay/f32 fma, blocked 32", f32, chain(MultiplyAdd::fused, {Kind::blocked, 32, 0}));
  register_replay("replay/f32 fma, blocked 8", f32, chain(MultiplyAdd::fused, {Kind::blocked, 8, 0}));
  register_replay("replay/f32 fma, strided 32", f32, chain(MultiplyAdd::fused, {Kind::strided, 32, 0}));
  register_replay("replay/f32 fma, pairwise", f32, chain(MultiplyAdd::fused, {Kind::pairwise, 0, 0}));
  register_replay("replay/f16 -> f16 fma, sequential", half, chain(MultiplyAdd::fused));
  register_replay("replay/f16, fused 16+1 F25", f16, adder(16, 25));
  register_replay("replay/f16, fused 8+1 F24", f16, adder(8, 24));
  register_replay("replay/f16, fused 4+1 F23", f16, adder(4, 23));
  register_replay("replay/bf16, fused 16+1 F25", bf16, adder(16, 25));
  register_replay("replay/tf32, fused 8+1 F25", tf32, adder(8, 25));
  register_replay("replay/f16, split-K 4, fused 16+1 F25", f16, adder(16, 25, {Kind::split_k, 4, 0}));
  register_tree("replay/f32 fma, any tree", f32,
                [](std::int64_t k) { return by_tree(k, MultiplyAdd::fused); });
  register_tree("replay/f32 mul+add, any tree", f32,
                [](std::int64_t k) { return by_tree(k, MultiplyAdd::separate); });
  register_tree("replay/f16, any tree of fused 16+1 F25", f16, by_fused_tree);
}

}  // namespace parity
