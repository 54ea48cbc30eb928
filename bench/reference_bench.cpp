// The three arithmetics: the exact matmul beside Eigen's bare GEMM of the same size, what tracking costs, and
// how fast devices are emulated. Counters are in operations per second: a multiply-add is two, a product one.
#include <benchmark/benchmark.h>

#include <Eigen/Core>

#include "harness/numerics/arithmetic.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

Tensor random_matrix(DType dtype, std::int64_t n, std::uint32_t stream) {
  Tensor tensor = *Tensor::create(dtype, {n, n});
  FillRequest request;
  request.stream = stream;
  request.reduction_length = n;
  fill_tensor(tensor, request);
  return tensor;
}

void count(benchmark::State& state, std::int64_t n, double operations) {
  const auto size = static_cast<double>(n);
  state.counters["op/s"] =
      benchmark::Counter(operations * size * size * size, benchmark::Counter::kIsIterationInvariantRate);
}

void bare_eigen(benchmark::State& state) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::int64_t n = state.range(0);
  const Matrix a = Matrix::Random(n, n), b = Matrix::Random(n, n);
  Matrix c(n, n);
  for (auto _ : state) {
    c.noalias() = a * b;
    benchmark::DoNotOptimize(c.data());
  }
  count(state, n, 2);
}

void run_matmul(benchmark::State& state, Arithmetic& arithmetic, DType input, double operations) {
  const std::int64_t n = state.range(0);
  const Value a = arithmetic.load(random_matrix(input, n, 0));
  const Value b = arithmetic.load(random_matrix(input, n, 1));
  for (auto _ : state) {
    const Value c = arithmetic.matmul(a, false, b, false);
    benchmark::DoNotOptimize(c.v.data());
  }
  count(state, n, operations);
}

void exact_matmul(benchmark::State& state) {
  run_matmul(state, *make_exact_arithmetic(), DType::f32, 2);
}

ArithmeticModel model_of(DType input, MultiplyAdd multiply_add, SummationOrder order = {}) {
  ArithmeticModel model;
  model.precision.input = input;
  model.precision.multiply = format_of(input);
  model.accumulation = Accumulation{order, multiply_add, {}};
  return model;
}

void tracked_known_order(benchmark::State& state) {
  run_matmul(state, *make_tracked_arithmetic(model_of(DType::f32, MultiplyAdd::fused)), DType::f32, 2);
}
void tracked_unknown_order(benchmark::State& state) {
  ArithmeticModel model = model_of(DType::f32, MultiplyAdd::fused);
  model.accumulation.reset();
  run_matmul(state, *make_tracked_arithmetic(model), DType::f32, 2);
}
void tracked_multi_term(benchmark::State& state) {
  run_matmul(state, *make_tracked_arithmetic(model_of(DType::f16, MultiplyAdd::multi_term)), DType::f16, 2);
}

void emulated(benchmark::State& state, const ArithmeticModel& model, double operations) {
  auto arithmetic = make_emulated_arithmetic(model);
  if (!arithmetic) return state.SkipWithError(arithmetic.error().message.c_str());
  run_matmul(state, **arithmetic, model.precision.input, operations);
}
void emulated_fma(benchmark::State& state) {
  emulated(state, model_of(DType::f32, MultiplyAdd::fused), 2);
}
void emulated_separate(benchmark::State& state) {
  emulated(state, model_of(DType::f32, MultiplyAdd::separate), 2);
}
void emulated_pairwise(benchmark::State& state) {
  emulated(state, model_of(DType::f32, MultiplyAdd::fused, {SummationOrder::Kind::pairwise, 0, 0}), 2);
}
void emulated_multi_term(benchmark::State& state) {
  emulated(state, model_of(DType::f16, MultiplyAdd::multi_term), 1);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(512)->Arg(1024)->Arg(2048)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(bare_eigen)->Apply(sizes);
BENCHMARK(exact_matmul)->Apply(sizes);
BENCHMARK(tracked_known_order)->Apply(sizes);
BENCHMARK(tracked_unknown_order)->Apply(sizes);
BENCHMARK(tracked_multi_term)->Apply(sizes);
void small_sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(512)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(emulated_fma)->Apply(small_sizes);
BENCHMARK(emulated_separate)->Apply(small_sizes);
BENCHMARK(emulated_pairwise)->Apply(small_sizes);
BENCHMARK(emulated_multi_term)->Apply(small_sizes);

}  // namespace
}  // namespace parity
