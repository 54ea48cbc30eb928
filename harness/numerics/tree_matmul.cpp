#include "harness/numerics/tree_matmul.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/numerics/flush_scope.hpp"
#include "harness/numerics/format_rounding.hpp"
#include "harness/numerics/lane_operand.hpp"
#include "harness/numerics/multi_term_adder.hpp"
#include "harness/numerics/packed_panels.hpp"
#include "harness/numerics/summation_tree.hpp"

namespace parity {
namespace {

constexpr int columns = 16;  // output columns worked on at once
using Lane = std::array<double, columns>;

/// One instruction of a stack machine over partial sums.
struct Step {
  enum class Kind : std::uint8_t {
    product,       ///< push the rounded product of `term`
    multiply_add,  ///< the product of `term` joins the top
    add,           ///< the top two become their sum
    adder,         ///< the top `sums` and the products of `terms` of the list, by the multi-term adder
  } kind;
  std::int64_t term = 0;  ///< adder: position in the list
  std::int32_t terms = 0, sums = 0;
};

/// A tree as a program. The child that needs the deeper stack is worked out first, so that the stack stays
/// logarithmic.
class Program {
 public:
  /// `adder_terms`: the products that one step of the adder takes; 0: there is no adder.
  Program(const SummationTree& tree, int adder_terms) : tree_(tree), adder_terms_(adder_terms) {
    std::vector<std::int64_t> need(static_cast<std::size_t>(tree.size()), 1);
    const auto needs = [&](std::int32_t node) { return need[static_cast<std::size_t>(node)]; };
    for (std::int32_t i = 0; i < tree.size(); ++i) {
      if (tree.node(i).leaf()) continue;
      std::vector<std::int32_t> sums = inner_children(i);
      std::ranges::sort(sums, std::greater<>{}, needs);
      std::int64_t most = 1;
      for (std::size_t at = 0; at < sums.size(); ++at)
        most = std::max(most, needs(sums[at]) + static_cast<std::int64_t>(at));
      need[static_cast<std::size_t>(i)] = most;
    }
    depth = tree.size() == 0 ? 1 : needs(tree.root());

    // Up from the root: parents before children, read backwards afterwards.
    struct Visit {
      std::int32_t node;
      std::int64_t above;  ///< the term that joins this node's sum next; -1: none does
      bool done;
    };
    std::vector<Visit> todo;
    if (tree.size() > 0) todo.push_back({tree.root(), -1, false});
    while (!todo.empty()) {
      const Visit visit = todo.back();
      todo.pop_back();
      if (tree.node(visit.node).leaf()) {
        steps.push_back({Step::Kind::product, tree.node(visit.node).term, 0, 0});
        continue;
      }
      if (visit.done) {
        emit(visit.node, visit.above);
        continue;
      }
      todo.push_back({visit.node, visit.above, true});
      std::vector<std::int32_t> sums = inner_children(visit.node);
      std::ranges::sort(sums, {}, needs);  // the neediest comes off the list first
      const std::int64_t joins = lone_term(visit.node);
      for (const std::int32_t sum : sums) todo.push_back({sum, joins, false});
    }
  }

  std::vector<Step> steps;
  std::vector<std::int64_t> list;
  std::int64_t depth = 1;

 private:
  std::vector<std::int32_t> inner_children(std::int32_t node) const {
    std::vector<std::int32_t> inner;
    for (const std::int32_t child : tree_.children(node))
      if (!tree_.node(child).leaf()) inner.push_back(child);
    return inner;
  }
  /// The first term among a node's children, or -1.
  std::int64_t lone_term(std::int32_t node) const {
    for (const std::int32_t child : tree_.children(node))
      if (tree_.node(child).leaf()) return tree_.node(child).term;
    return -1;
  }

  void emit(std::int32_t node, std::int64_t above) {
    std::vector<std::int64_t> terms;
    for (const std::int32_t child : tree_.children(node))
      if (tree_.node(child).leaf()) terms.push_back(tree_.node(child).term);
    auto sums = static_cast<std::int32_t>(tree_.children(node).size() - terms.size());
    if (adder_terms_ > 0 && (!terms.empty() || sums > 2)) {
      // One product more than a step takes: the first came as its sum, from a step of its own (a product that
      // is exact and a sum of one term are the same leaf of a tree).
      if (sums == 0 && std::ssize(terms) == adder_terms_ + 1) {
        steps.push_back({Step::Kind::adder, static_cast<std::int64_t>(list.size()), 1, 0});
        list.push_back(terms.front());
        terms.erase(terms.begin());
        sums = 1;
      }
      steps.push_back({Step::Kind::adder, static_cast<std::int64_t>(list.size()),
                       static_cast<std::int32_t>(terms.size()), sums});
      list.insert(list.end(), terms.begin(), terms.end());
    } else if (sums == 2) {
      steps.push_back({Step::Kind::add, 0, 0, 2});
    } else if (sums == 1) {
      steps.push_back({Step::Kind::multiply_add, terms.front(), 0, 1});
    } else {
      const bool descending = above >= 0 && above < terms.front();
      if (descending) std::swap(terms[0], terms[1]);
      steps.push_back({Step::Kind::product, terms[0], 0, 0});
      steps.push_back({Step::Kind::multiply_add, terms[1], 0, 1});
    }
  }

  const SummationTree& tree_;
  int adder_terms_;
};

template <class T, bool Fused>
struct Native {
  static double product(double a, double b) { return static_cast<T>(a) * static_cast<T>(b); }
  static double step(double a, double b, double sum) {
    const T x = static_cast<T>(a), y = static_cast<T>(b), s = static_cast<T>(sum);
    if constexpr (Fused) return std::fma(x, y, s);
    const T rounded = x * y;
    return s + rounded;
  }
  static double add(double x, double y) { return static_cast<T>(x) + static_cast<T>(y); }
};
template <double (*Round)(double), bool Fused>
struct Narrow {  // as in emulated_matmul.cpp: fp64 holds what is rounded once
  static double product(double a, double b) { return Round(a * b); }
  static double step(double a, double b, double sum) {
    return Fused ? Round(a * b + sum) : Round(sum + Round(a * b));
  }
  static double add(double x, double y) { return Round(x + y); }
};

struct Operands {
  const Program& program;
  MatrixView<double> a, b;
  AdderArithmetic adder;  ///< `flush` and the formats are those of every addition
};

void adder_step(const Operands& in, const Step& step, const double* row, const double* panel,
                std::vector<Lane>& stack) {
  std::vector<double> left(static_cast<std::size_t>(step.terms)), right(left.size()),
      sums(static_cast<std::size_t>(step.sums));
  Lane result;
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t t = 0; t < left.size(); ++t) {
      const std::int64_t term = in.program.list[static_cast<std::size_t>(step.term) + t];
      left[t] = row[term];
      right[t] = panel[term * columns + static_cast<std::int64_t>(c)];
    }
    for (std::size_t s = 0; s < sums.size(); ++s) sums[s] = stack[stack.size() - sums.size() + s][c];
    result[c] = multi_term_sum(in.adder, left, right, sums);
  }
  stack.resize(stack.size() - sums.size());
  stack.push_back(result);
}

template <class Ops>
void run(const Operands& in, double* out) {
  const auto same = [](double x) { return x; };
  const auto panels = pack_rows<double, columns>(transposed(in.b), {}, same);
  const auto rows = pack_rows<double, 1>(in.a, {}, same);
#pragma omp parallel if (worth_threads(in.a.rows, in.b.cols, in.a.cols))
  {
    const FlushScope scope(in.adder.flush);
    std::vector<Lane> stack;
    stack.reserve(static_cast<std::size_t>(in.program.depth) + 1);
#pragma omp for collapse(2) schedule(dynamic, 4)
    for (std::int64_t p = 0; p < panels.panels(); ++p) {
      for (std::int64_t r = 0; r < in.a.rows; ++r) {
        const double* row = rows.panel(r);
        const double* panel = panels.panel(p);
        stack.clear();
        for (const Step& step : in.program.steps) {
          // Of one product; an adder's `term` is a place in the program's list.
          const bool one = step.kind == Step::Kind::product || step.kind == Step::Kind::multiply_add;
          const double x = one ? row[step.term] : 0;
          const double* y = panel + (one ? step.term * columns : 0);
          switch (step.kind) {
            case Step::Kind::product:
              stack.emplace_back();
              for (std::size_t c = 0; c < columns; ++c) stack.back()[c] = Ops::product(x, y[c]);
              break;
            case Step::Kind::multiply_add:
              for (std::size_t c = 0; c < columns; ++c) stack.back()[c] = Ops::step(x, y[c], stack.back()[c]);
              break;
            case Step::Kind::add: {
              const Lane top = stack.back();
              stack.pop_back();
              for (std::size_t c = 0; c < columns; ++c) stack.back()[c] = Ops::add(stack.back()[c], top[c]);
              break;
            }
            case Step::Kind::adder:
              adder_step(in, step, row, panel, stack);
              break;
          }
        }
        const std::int64_t width = std::min<std::int64_t>(columns, in.b.cols - p * columns);
        for (std::int64_t j = 0; j < width; ++j)
          out[r * in.b.cols + p * columns + j] =
              stack.empty() ? 0 : stack.back()[static_cast<std::size_t>(j)];
      }
    }
  }
}

/// What the lanes must hold: the largest additions of the program.
AdderSteps largest_steps(const Operands& in) {
  AdderSteps steps{1, in.adder.adder.fraction_bits, 0};
  for (const Step& step : in.program.steps)
    if (step.kind == Step::Kind::adder) steps.terms = std::max({steps.terms, step.terms, step.sums});
  return steps;
}

/// One row and one panel of columns. `stack` has room for the program's depth and one more.
void run_lanes_row(const AdderLanes& lanes, const AdderSteps& steps, const Operands& in, AdderRow left,
                   AdderRow right, float* stack) {
  const std::int64_t width = lanes.columns;
  std::int64_t top = 0;
  for (const Step& step : in.program.steps) {
    float* slot = stack + (top - step.sums) * width;
    switch (step.kind) {
      case Step::Kind::product:  // of a tree of one term: two factors of 12 bits, exact
        for (std::int64_t c = 0; c < width; ++c)
          slot[c] = left.value[step.term] * right.value[step.term * width + c];
        break;
      case Step::Kind::multiply_add:  // no multi-term tree has one
        break;
      case Step::Kind::add:
        for (std::int64_t c = 0; c < width; ++c) slot[c] += slot[width + c];
        break;
      case Step::Kind::adder:
        lanes.node(steps, left, right, in.program.list.data() + step.term, step.terms, slot, step.sums);
        break;
    }
    top += 1 - step.sums;
  }
}

/// A tree of multi-term additions over lanes; false where they do not hold these numbers.
bool run_lanes(const Operands& in, double* out) {
  AdderSteps steps = largest_steps(in);
  const FloatFormat& multiply = in.adder.multiply;
  if (!in.adder.suits_lanes() || !adder_lanes_fit(steps, multiply.precision, 0, 0, in.a.cols)) return false;
  const AdderLanes& lanes = adder_lanes();
  const LaneOperand left = pack_lanes(in.a, {}, 1, multiply.min_exponent);
  const LaneOperand right = pack_lanes(transposed(in.b), {}, lanes.columns, multiply.min_exponent);
  const int smallest = left.smallest + right.smallest;
  if (!adder_lanes_fit(steps, multiply.precision, smallest, left.largest + right.largest, in.a.cols))
    return false;
  steps.floor_exponent = smallest - steps.fraction_bits;
#pragma omp parallel if (worth_threads(in.a.rows, in.b.cols, in.a.cols))
  {
    const FlushScope scope(in.adder.flush);
    std::vector<float> stack(static_cast<std::size_t>((in.program.depth + 1) * lanes.columns), 0.0f);
#pragma omp for collapse(2) schedule(dynamic, 4)
    for (std::int64_t p = 0; p < right.panels(); ++p) {
      for (std::int64_t r = 0; r < in.a.rows; ++r) {
        run_lanes_row(lanes, steps, in, left.panel(r), right.panel(p), stack.data());
        const std::int64_t first = p * lanes.columns;
        const std::int64_t width = std::min<std::int64_t>(lanes.columns, in.b.cols - first);
        std::copy_n(stack.data(), width, out + r * in.b.cols + first);
      }
    }
  }
  patch_special_values(in.a, in.b, out);
  return true;
}

template <bool Fused>
void run_format(DType accumulate, const Operands& in, double* out) {
  switch (accumulate) {
    case DType::f64:
      return run<Native<double, Fused>>(in, out);
    case DType::f16:
      return in.adder.flush ? run<Narrow<round_to_f16<true>, Fused>>(in, out)
                            : run<Narrow<round_to_f16<false>, Fused>>(in, out);
    case DType::bf16:
      return in.adder.flush ? run<Narrow<round_to_bf16<true>, Fused>>(in, out)
                            : run<Narrow<round_to_bf16<false>, Fused>>(in, out);
    case DType::f32:
    case DType::i32:
    case DType::i8:
      return run<Native<float, Fused>>(in, out);  // integers have a kernel of their own
  }
}

}  // namespace

void tree_matmul(const ArithmeticModel& model, const MatrixView<double>& a, const MatrixView<double>& b,
                 double* c, bool by_lanes) {
  const Accumulation& how = *model.accumulation;
  const bool multi_term = how.multiply_add == MultiplyAdd::multi_term;
  const Program program(*how.order.tree, multi_term ? how.adder.terms : 0);
  const Operands operands{program, a, b, AdderArithmetic::of(model)};
  if (multi_term && by_lanes && run_lanes(operands, c)) return;
  if (how.multiply_add == MultiplyAdd::fused)
    run_format<true>(model.precision.accumulate, operands, c);
  else
    run_format<false>(model.precision.accumulate, operands, c);
}

}  // namespace parity
