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

  Value apply(Function function, const Value& x) override {
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

/// The mask of attention that leaves a query without any key; i32 [batch * seq] at the port `valid`.
std::optional<Cause> masked_row(const CallResult& call, std::int64_t element) {
  for (std::size_t port = 0; port < call.op->inputs().size() && port < call.inputs.size(); ++port) {
    const Tensor* mask = call.inputs[port];
    if (call.op->inputs()[port].name != "valid" || mask == nullptr) continue;
    const std::int64_t seq = call.attributes->integer("seq", mask->elements());
    const bool causal = call.attributes->integer("causal", 0) != 0;
    const std::int64_t row = element / std::max<std::int64_t>(call.got->shape().back(), 1);
    const std::int64_t first = row / seq * seq, last = causal ? row : first + seq - 1;
    for (std::int64_t key = first; key <= last && key < mask->elements(); ++key)
      if (mask->value(key) != 0) return std::nullopt;
    return Cause{CauseKind::inf_minus_inf,
                 fmt::format("row {} is fully masked: -inf - -inf in a softmax that does not look", row)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Cause> hint_for(const CallResult& call, std::int64_t element) {
  if (auto masked = masked_row(call, element)) return masked;
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
  return std::nullopt;
}

}  // namespace parity
