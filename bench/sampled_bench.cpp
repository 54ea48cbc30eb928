// A product judged by its full tracked reference, and by Freivalds' check of everything with the full
// contract on 32 rows: the ratio of the two is what a sample saves. Same matrices, one run of the program.
#include <benchmark/benchmark.h>

#include "harness/numerics/freivalds.hpp"
#include "harness/numerics/judge.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

constexpr std::int64_t rows = 32;

struct Product {
  std::int64_t n;
  Tensor a, b, d, some_rows, part;
  ArithmeticModel model;
  Contract contract;

  explicit Product(std::int64_t size, Fill fill)
      : n(size),
        a(matrix(size, size, fill, 0)),
        b(matrix(size, size, fill, 1)),
        d(*Tensor::create(DType::f32, {size, size})),
        some_rows(*Tensor::create(DType::f32, {rows, size})),
        part(*Tensor::create(DType::f32, {rows, size})) {
    const auto exact = make_exact_arithmetic();
    narrow(exact->matmul(exact->load(a), false, exact->load(b), false).v, d);
    for (std::int64_t i = 0; i < rows * n; ++i) {
      some_rows.set_bits(i, a.bits(i));
      part.set_bits(i, d.bits(i));
    }
    model.accumulation = Accumulation{};
    contract.order_known = true;
    contract.store_rounds = false;
    contract.exact = fill == Fill::integer;
  }

  static Tensor matrix(std::int64_t rows, std::int64_t cols, Fill fill, std::uint32_t stream) {
    Tensor tensor = *Tensor::create(DType::f32, {rows, cols});
    FillRequest request;
    request.fill = fill;
    request.stream = stream;
    request.role = stream == 0 ? FillRole::left : FillRole::right;
    request.reduction_axis = stream == 0 ? 1 : 0;
    request.reduction_length = cols;
    fill_tensor(tensor, request);
    return tensor;
  }

  /// The element contract over `left` * b against `got`.
  void judge_elements(const Tensor& left, const Tensor& got) const {
    const auto tracked = make_tracked_arithmetic(model);
    const Value want = tracked->matmul(tracked->load(left), false, tracked->load(b), false);
    benchmark::DoNotOptimize(judge(got, want, contract, {}));
  }

  bool check() const {
    const ProductForm form{stored_matrix(a, 0, false), stored_matrix(b, 0, false), 1, 0, std::nullopt};
    const StoredMatrix result = stored_matrix(d, 0, false);
    const auto by_rows = freivalds_rows(form, result, model, contract, {});
    const auto by_columns =
        freivalds_rows(form.transposed(), result.transposed(), model, contract, {2, 1, 1});
    return by_rows && by_columns && by_rows->flagged_rows + by_columns->flagged_rows == 0;
  }
};

void FullReference(benchmark::State& state) {
  const Product p(state.range(0), Fill::normal);
  for (auto _ : state) p.judge_elements(p.a, p.d);
}

void freivalds_only(benchmark::State& state, Fill fill) {
  const Product p(state.range(0), fill);
  for (auto _ : state)
    if (!p.check()) state.SkipWithError("a healthy result was flagged");
}
void FreivaldsReals(benchmark::State& state) {
  freivalds_only(state, Fill::normal);
}
void FreivaldsIntegers(benchmark::State& state) {
  freivalds_only(state, Fill::integer);
}

void Sampled(benchmark::State& state) {
  const Product p(state.range(0), Fill::normal);
  for (auto _ : state) {
    if (!p.check()) state.SkipWithError("a healthy result was flagged");
    p.judge_elements(p.some_rows, p.part);
  }
}

void sampled_sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(1024)->Arg(2048)->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(FullReference)->Apply(sampled_sizes);
BENCHMARK(FreivaldsReals)->Apply(sampled_sizes);
BENCHMARK(FreivaldsIntegers)->Apply(sampled_sizes);
BENCHMARK(Sampled)->Apply(sampled_sizes);

}  // namespace
}  // namespace parity
