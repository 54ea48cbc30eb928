// What a kernel may have left out: the questions that the inputs of an op answer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/bisect/examined_call.hpp"
#include "harness/numerics/passing_arithmetic.hpp"

namespace parity {
namespace {

constexpr double largest_exp_argument = 88.722839;  // exp is finite in fp32 up to here

/// The exact arithmetic, noting what roots and shifted exponentials are given.
class Curious final : public PassingArithmetic {
 public:
  using PassingArithmetic::PassingArithmetic;
  double largest_maximum = -HUGE_VAL;  ///< of a row, before it is taken off
  double least_exponent = 0;           ///< given to exp
  bool zero_under_root = false;        ///< a mean square of zero, had nothing been added
  std::vector<double> roots;           ///< what the last root was taken of

  Value apply(Function function, const Value& x) override {
    if (function == Function::sqrt) roots = x.v;
    if (function == Function::exp)
      for (const double e : x.v)
        if (std::isfinite(e)) least_exponent = std::min(least_exponent, e);
    return inner().apply(function, x);
  }
  Value row_dot(const Value& x, const Value* y) override {
    Value sums = inner().row_dot(x, y);
    if (y != nullptr) zero_under_root |= std::ranges::find(sums.v, 0.0) != sums.v.end();
    return sums;
  }
  Value row_max(const Value& x) override {
    Value maxima = inner().row_max(x);
    for (const double m : maxima.v)
      if (std::isfinite(m)) largest_maximum = std::max(largest_maximum, m);
    return maxima;
  }
};

/// A port of the call by name; null: it has none, or it is empty.
const Tensor* port_named(const CallResult& call, std::string_view name) {
  for (std::size_t port = 0; port < call.op->inputs().size() && port < call.inputs.size(); ++port)
    if (call.op->inputs()[port].name == name) return call.inputs[port];
  return nullptr;
}

/// A key that takes no part, whose V is not finite: what a kernel meets that gives it the weight 0.
std::optional<Cause> unused_slot(const CallResult& call, std::int64_t element) {
  const Tensor *mask = port_named(call, "valid"), *v = port_named(call, "V");
  if (call.op->name() != "attention" || mask == nullptr || v == nullptr) return std::nullopt;
  const std::int64_t width = v->shape().back(), cols = call.got->shape().back();
  const std::int64_t heads = call.attributes->integer("heads"),
                     group = heads / std::max<std::int64_t>(1, call.attributes->integer("kv_heads"));
  if (heads < 1 || group < 1 || cols < heads) return std::nullopt;
  const std::int64_t dim = cols / heads, column = element % cols;
  const std::int64_t v_column = column / dim / group * dim + column % dim;
  const std::int64_t row = element / cols, seq = call.attributes->integer("seq", mask->elements());
  const std::int64_t first = row / seq * seq;
  for (std::int64_t key = first; key < first + seq && key < mask->elements(); ++key) {
    const bool takes_part = mask->value(key) != 0 && (call.attributes->integer("causal") == 0 || key <= row);
    if (takes_part || std::isfinite(v->value(key * width + v_column))) continue;
    return Cause{
        CauseKind::zero_times_inf,
        fmt::format("key {} takes no part, and its V is {}: 0 * that is NaN where it is not left out", key,
                    v->value(key * width + v_column))};
  }
  return std::nullopt;
}

/// The mask of attention that leaves a query without any key; i32 [batch * seq] at the port `valid`.
std::optional<Cause> masked_row(const CallResult& call, std::int64_t element) {
  const Tensor* mask = port_named(call, "valid");
  if (mask == nullptr) return std::nullopt;
  const std::int64_t seq = call.attributes->integer("seq", mask->elements());
  const bool causal = call.attributes->integer("causal", 0) != 0;
  const std::int64_t row = element / std::max<std::int64_t>(call.got->shape().back(), 1);
  const std::int64_t first = row / seq * seq, last = causal ? row : first + seq - 1;
  for (std::int64_t key = first; key <= last && key < mask->elements(); ++key)
    if (mask->value(key) != 0) return std::nullopt;
  return Cause{CauseKind::inf_minus_inf,
               fmt::format("row {} is fully masked: -inf - -inf in a softmax that does not look", row)};
}

/// Whether the elements that are not finite are those whose root is that of 0, and no others.
bool roots_of_zero(const CallResult& call, const std::vector<double>& roots) {
  if (roots.size() != static_cast<std::size_t>(call.got->elements())) return false;
  for (std::int64_t i = 0; i < call.got->elements(); ++i)
    if (std::isfinite(call.got->value(i)) == (roots[static_cast<std::size_t>(i)] == 0)) return false;
  return true;
}

}  // namespace

std::optional<Cause> hint_for(const CallResult& call, std::int64_t element) {
  if (auto masked = masked_row(call, element)) return masked;
  if (auto unused = unused_slot(call, element)) return unused;
  const auto exact = make_exact_arithmetic();
  Curious curious(*exact);
  if (auto values = call.op->evaluate(curious, *call.attributes, call.inputs); !values) return std::nullopt;
  const std::string_view op = call.op->name();
  if (curious.largest_maximum > largest_exp_argument)
    return Cause{
        CauseKind::exp_overflow,
        fmt::format("exp({:.6g}) overflows fp32 (limit {:.5g}) where a row's maximum is not taken off",
                    curious.largest_maximum, largest_exp_argument)};
  if (op.starts_with("softmax_cross_entropy") && curious.least_exponent < -103)
    return Cause{CauseKind::log_of_nonpositive,
                 fmt::format("log(exp({:.6g})) is log(0) in fp32 where the difference is not taken directly",
                             curious.least_exponent)};
  if (curious.zero_under_root)
    return Cause{CauseKind::rsqrt_of_nonpositive,
                 "a sum of squares is 0: its inverse root is infinite unless epsilon is added"};
  if (roots_of_zero(call, curious.roots))
    return Cause{CauseKind::rsqrt_of_nonpositive,
                 "a root is 0 here: what is divided by it is infinite or NaN unless epsilon is added"};
  return std::nullopt;
}

}  // namespace parity
