#include "harness/numerics/emulated_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#if defined(__FMA__)
#include <immintrin.h>
#endif

#include "harness/numerics/flush_scope.hpp"
#include "harness/numerics/format_rounding.hpp"
#include "harness/numerics/multi_term_adder.hpp"
#include "harness/numerics/packed_panels.hpp"
#include "harness/numerics/summation_order.hpp"
#include "harness/numerics/summation_tree.hpp"
#include "harness/numerics/tree_matmul.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

// One multiply-add and one addition of each accumulate format. fp32 and fp64 are the machine's own; flushing
// is the vector unit's mode. fp16 and bf16 go through fp64: a product has at most 22 bits and the sum is
// rounded to fp64 first, which cannot change the second rounding: near a midpoint of the narrow format the
// product's last bit is at most 2^-34 of the sum (or the accumulator's last bit 2^-40), well inside fp64's 53
// bits.
template <class T>
struct Vector;
template <>
struct Vector<float> {
  typedef float Type __attribute__((vector_size(32)));
};
template <>
struct Vector<double> {
  typedef double Type __attribute__((vector_size(32)));
};

template <class Float, bool Fused>
struct NativeOps {
  using T = Float;
  // Vectors of the compiler's own kind: left to itself, g++ 12 shuffles these loops across rows.
  static constexpr int lanes = 32 / sizeof(T);
  using Lanes = typename Vector<T>::Type;
  static Lanes step(Lanes a, Lanes b, Lanes sum) {
    if constexpr (Fused) return fused(a, b, sum);
    const Lanes product = a * b;
    return sum + product;
  }
  static Lanes fused(Lanes a, Lanes b, Lanes sum) {
#if defined(__FMA__)
    if constexpr (sizeof(T) == 4) {
      return reinterpret_cast<Lanes>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b),
                                                     reinterpret_cast<__m256>(sum)));
    } else {
      return reinterpret_cast<Lanes>(_mm256_fmadd_pd(
          reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(sum)));
    }
#else
    for (int i = 0; i < lanes; ++i) sum[i] = std::fma(a[i], b[i], sum[i]);
    return sum;
#endif
  }
  static T add(T x, T y) {
    return x + y;
  }
};

template <double (*Round)(double), bool Fused>
struct NarrowOps {
  using T = double;
  static T step(T a, T b, T sum) {
    if constexpr (Fused) return Round(a * b + sum);
    return Round(sum + Round(a * b));
  }
  static T add(T x, T y) { return Round(x + y); }
};

/// Rows x Columns chains of n terms from +0.
template <class Ops, int Rows, int Columns>
[[gnu::noinline]] void run_chains(const typename Ops::T* __restrict a, const typename Ops::T* __restrict b,
                                  std::int64_t n, typename Ops::T* __restrict out) {
  using T = typename Ops::T;
  if constexpr (requires { typename Ops::Lanes; }) {
    using Lanes = typename Ops::Lanes;
    constexpr int vectors = Columns / Ops::lanes;
    static_assert(vectors * Ops::lanes == Columns);
    Lanes sum[Rows][vectors] = {};
    for (std::int64_t k = 0; k < n; ++k) {
      Lanes right[vectors];
      std::memcpy(right, b + k * Columns, sizeof right);
      for (int r = 0; r < Rows; ++r) {
        const Lanes left = a[k * Rows + r] - Lanes{};  // broadcast; x - 0 is x, signed zeros included
        for (int c = 0; c < vectors; ++c) sum[r][c] = Ops::step(left, right[c], sum[r][c]);
      }
    }
    std::memcpy(out, sum, sizeof sum);
  } else {
    T sum[Rows][Columns] = {};
    for (std::int64_t k = 0; k < n; ++k) {
      for (int r = 0; r < Rows; ++r) {
        const T x = a[k * Rows + r];
        for (int c = 0; c < Columns; ++c) sum[r][c] = Ops::step(x, b[k * Columns + c], sum[r][c]);
      }
    }
    std::memcpy(out, sum, sizeof sum);
  }
}

template <class Ops, int Size>
[[gnu::noinline]] void add_into(typename Ops::T* __restrict x, const typename Ops::T* __restrict y) {
  for (int i = 0; i < Size; ++i) x[i] = Ops::add(x[i], y[i]);
}

/// One tile of outputs: every part's chain, combined as the plan says. `scratch` grows as needed.
template <class Ops, int Rows, int Columns>
void run_tile(const typename Ops::T* a, const typename Ops::T* b, const SummationPlan& plan,
              std::vector<typename Ops::T>& scratch, typename Ops::T* out) {
  using T = typename Ops::T;
  constexpr int size = Rows * Columns;
  const auto chain = [&](std::int64_t part, T* to) {
    const std::int64_t first = plan.begin[static_cast<std::size_t>(part)];
    const std::int64_t last = plan.begin[static_cast<std::size_t>(part) + 1];
    run_chains<Ops, Rows, Columns>(a + first * Rows, b + first * Columns, last - first, to);
  };
  const auto slot = [&](std::int64_t index) { return scratch.data() + index * size; };
  const std::int64_t parts = plan.parts();
  if (parts == 1) return chain(0, out);
  if (plan.combine == SummationPlan::Combine::sequence) {
    scratch.resize(size);
    std::fill_n(out, size, T(0));
    for (std::int64_t part = 0; part < parts; ++part) {
      chain(part, slot(0));
      add_into<Ops, size>(out, slot(0));
    }
  } else if (plan.combine == SummationPlan::Combine::adjacent_tree) {
    // A binary counter: finished subtrees of equal size merge at once, so that left subtrees are the largest
    // powers of two; at the end what is left merges from the right.
    scratch.resize(66 * size);
    std::int64_t depth = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      chain(part, slot(depth++));
      for (std::int64_t done = part + 1; done % 2 == 0; done /= 2) {
        add_into<Ops, size>(slot(depth - 2), slot(depth - 1));
        --depth;
      }
    }
    for (; depth > 1; --depth) add_into<Ops, size>(slot(depth - 2), slot(depth - 1));
    std::copy_n(slot(0), size, out);
  } else {
    scratch.resize(static_cast<std::size_t>(parts * size));
    for (std::int64_t part = 0; part < parts; ++part) chain(part, slot(part));
    for (std::int64_t n = parts; n > 1;) {
      const std::int64_t half = (n + 1) / 2;
      for (std::int64_t i = 0; i + half < n; ++i) add_into<Ops, size>(slot(i), slot(i + half));
      n = half;
    }
    std::copy_n(slot(0), size, out);
  }
}

/// Reads an operand in the multiply format.
class ToMultiplyFormat {
 public:
  explicit ToMultiplyFormat(const ArithmeticModel& model)
      : format_(model.precision.multiply),
        rounding_(model.multiply_rounding),
        narrows_(format_ != format_of(model.precision.input)),
        flush_below_(model.denormals == Denormals::flush
                         ? smallest_normal(format_of(model.precision.accumulate))
                         : 0) {}
  double operator()(double x) const {
    if (std::fabs(x) < flush_below_) x = std::copysign(0.0, x);
    return narrows_ ? round_to(format_, x, rounding_) : x;
  }

 private:
  FloatFormat format_;
  Rounding rounding_;
  bool narrows_;
  double flush_below_;
};

struct Problem {
  const ArithmeticModel& model;
  const SummationPlan& plan;
  MatrixView<double> a, b;
  double* c;
};

template <class Ops, int Rows, int Columns>
void run(const Problem& problem) {
  using T = typename Ops::T;
  const ToMultiplyFormat read(problem.model);
  const auto convert = [&](double x) { return static_cast<T>(read(x)); };
  const auto a = pack_rows<T, Rows>(problem.a, problem.plan.permutation, convert);
  const auto b = pack_rows<T, Columns>(transposed(problem.b), problem.plan.permutation, convert);
  const std::int64_t a_panels = a.panels();
  const std::int64_t b_panels = b.panels();
  const std::int64_t columns = problem.b.cols;
  const bool flush = problem.model.denormals == Denormals::flush;
#pragma omp parallel if (worth_threads(problem.a.rows, columns, problem.a.cols))
  {
    const FlushScope scope(flush);
    std::vector<T> scratch;
    T tile[Rows * Columns];
#pragma omp for collapse(2) schedule(dynamic, 4)
    for (std::int64_t q = 0; q < b_panels; ++q) {
      for (std::int64_t p = 0; p < a_panels; ++p) {
        run_tile<Ops, Rows, Columns>(a.panel(p), b.panel(q), problem.plan, scratch, tile);
        const std::int64_t height = std::min<std::int64_t>(Rows, a.rows - p * Rows);
        const std::int64_t width = std::min<std::int64_t>(Columns, columns - q * Columns);
        for (std::int64_t r = 0; r < height; ++r) {
          double* out = problem.c + (p * Rows + r) * columns + q * Columns;
          for (std::int64_t j = 0; j < width; ++j) out[j] = static_cast<double>(tile[r * Columns + j]);
        }
      }
    }
  }
}

template <bool Fused>
void run_chain_orders(const Problem& problem) {
  const bool flush = problem.model.denormals == Denormals::flush;
  switch (problem.model.precision.accumulate) {
    case DType::f64:
      return run<NativeOps<double, Fused>, 6, 8>(problem);
    case DType::f16:
      return flush ? run<NarrowOps<round_to_f16<true>, Fused>, 2, 8>(problem)
                   : run<NarrowOps<round_to_f16<false>, Fused>, 2, 8>(problem);
    case DType::bf16:
      return flush ? run<NarrowOps<round_to_bf16<true>, Fused>, 2, 8>(problem)
                   : run<NarrowOps<round_to_bf16<false>, Fused>, 2, 8>(problem);
    case DType::f32:
    case DType::i32:
    case DType::i8:
      return run<NativeOps<float, Fused>, 6, 16>(problem);  // integers have a kernel of their own
  }
}

/// Operands of the multi-term adder in the multiply format, when that needs a copy.
std::vector<double> converted(const MatrixView<double>& m, const ArithmeticModel& model) {
  const ToMultiplyFormat read(model);
  std::vector<double> copy(static_cast<std::size_t>(m.rows * m.cols));
  const double* from = m.data;
  for_each_element(m.rows * m.cols,
                   [&](std::int64_t i) { copy[static_cast<std::size_t>(i)] = read(from[i]); });
  return copy;
}

/// Both operands in the multiply format, without a copy where they are so already.
struct ConvertedOperands {
  explicit ConvertedOperands(const Problem& problem) : a(problem.a), b(problem.b) {
    const ArithmeticModel& model = problem.model;
    if (model.denormals != Denormals::flush && model.precision.multiply == format_of(model.precision.input))
      return;
    copy_a = converted(a, model);
    copy_b = converted(b, model);
    a.data = copy_a.data();
    b.data = copy_b.data();
  }
  MatrixView<double> a, b;
  std::vector<double> copy_a, copy_b;
};

void run_multi_term(const Problem& problem) {
  const ConvertedOperands in(problem);
  multi_term_matmul(AdderArithmetic::of(problem.model), problem.plan, in.a, in.b, problem.c);
}

}  // namespace

Result<void> check_emulation(const ArithmeticModel& model) {
  const Precision& p = model.precision;
  const auto refuse = [&](std::string_view why) {
    return bad_input(fmt::format("emulated arithmetic ({}): {}", to_string(model), why));
  };
  if (sums_integers(model)) {
    if (p.input != DType::i8 || p.accumulate != DType::i32 || p.store != DType::i32)
      return refuse("of integer sums only i8 -> i32 -> i32 is modelled");
    return {};
  }
  if (!model.accumulation) return refuse("the order of accumulation is unknown; name one");
  if (model.denormals == Denormals::either) return refuse("denormals must be either preserved or flushed");
  if (auto valid = check_accumulation(*model.accumulation); !valid) return valid;
  if (!is_float(p.input) || !is_float(p.accumulate)) return refuse("integer formats are not modelled");
  if (p.scratch != DType::f32 && p.scratch != DType::f64)
    return refuse("the scratch format must be f32 or f64");
  if (format_of(p.accumulate).precision > format_of(p.scratch).precision) {
    return refuse("the scratch format is narrower than the accumulator");
  }
  if (!model.store_rounding_known) return refuse("the rounding of the store is unknown");
  if (model.denormals == Denormals::flush && !FlushScope::available) {
    return refuse("this machine cannot flush denormals");
  }
  if (p.multiply.precision > format_of(p.accumulate).precision) {
    return refuse("the multiply format is wider than the accumulator");
  }
  const bool narrow = p.accumulate == DType::f16 || p.accumulate == DType::bf16;
  if (narrow && p.multiply.precision > 11)
    return refuse("a narrow accumulator needs a narrow multiply format");
  if (model.accumulation->multiply_add == MultiplyAdd::multi_term && p.accumulate != DType::f32 &&
      p.accumulate != DType::f16) {
    return refuse("a multi-term adder accumulates in f32 or f16");
  }
  return {};
}

Value emulate_matmul(const ArithmeticModel& model, const Value& a, bool transpose_a, const Value& b,
                     bool transpose_b) {
  Value c = make_value(common_batch(a, b), transpose_a ? a.cols : a.rows, transpose_b ? b.rows : b.cols);
  c.bits_known = a.bits_known && b.bits_known;
  const std::int64_t depth = transpose_a ? a.rows : a.cols;
  const SummationOrder& order = model.accumulation->order;
  const bool by_tree = order.kind == SummationOrder::Kind::tree;
  if (by_tree && order.tree->terms() != depth) c.bits_known = false;  // a tree says nothing of other lengths
  const auto plan = plan_summation(by_tree ? SummationOrder{} : order, depth);
  if (!plan || c.size() == 0) return c;  // a bad order was refused by check_emulation
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    const Problem problem{model, *plan, view(a, a.v, batch, transpose_a), view(b, b.v, batch, transpose_b),
                          c.v.data() + batch * c.rows * c.cols};
    if (by_tree && order.tree->terms() == depth) {
      const ConvertedOperands in(problem);
      tree_matmul(model, in.a, in.b, problem.c);
      continue;
    }
    switch (model.accumulation->multiply_add) {
      case MultiplyAdd::fused:
        run_chain_orders<true>(problem);
        break;
      case MultiplyAdd::separate:
        run_chain_orders<false>(problem);
        break;
      case MultiplyAdd::multi_term:
        run_multi_term(problem);
        break;
    }
  }
  return c;
}

}  // namespace parity
