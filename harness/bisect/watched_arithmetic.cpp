#include "harness/bisect/watched_arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "harness/numerics/passing_arithmetic.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

constexpr std::size_t most_events = 4096;

using Classify = std::function<NonfiniteEvent(std::int64_t index, double result)>;

class WatchedArithmetic final : public PassingArithmetic {
 public:
  WatchedArithmetic(Arithmetic& inner, std::vector<NonfiniteEvent>& events)
      : PassingArithmetic(inner), events_(events) {}

  Value matmul(const Value& a, bool ta, const Value& b, bool tb) override {
    Value c = inner().matmul(a, ta, b, tb);
    note(c, [&](std::int64_t i, double result) {
      const std::int64_t col = i % c.cols, row = i / c.cols % c.rows, batch = i / (c.cols * c.rows);
      const std::int64_t terms = ta ? a.rows : a.cols;
      Sum sum;
      for (std::int64_t k = 0; k < terms; ++k)
        sum.add(at(a, batch, ta ? k : row, ta ? row : k), at(b, batch, tb ? col : k, tb ? k : col));
      return sum.event(result);
    });
    return c;
  }

  Value row_dot(const Value& x, const Value* y) override {
    Value sums = inner().row_dot(x, y);
    note(sums, [&](std::int64_t i, double result) {
      Sum sum;
      for (std::int64_t c = 0; c < x.cols; ++c) {
        const auto place = static_cast<std::size_t>(i * x.cols + c);
        sum.add(x.v[place], y == nullptr ? 1.0 : y->v[place]);
      }
      return sum.event(result);
    });
    return sums;
  }

  Value scale_add(double alpha, const Value& x, double beta, const Value* y) override {
    Value sum = inner().scale_add(alpha, x, beta, y);
    note(sum, [&](std::int64_t i, double result) {
      return added(alpha * element(x, i), y == nullptr ? 0 : beta * partner(x, *y, i), result);
    });
    return sum;
  }
  Value add(const Value& x, const Value& y) override {
    Value sum = inner().add(x, y);
    note(sum, [&](std::int64_t i, double result) { return added(element(x, i), partner(x, y, i), result); });
    return sum;
  }

  Value mul(const Value& x, const Value& y) override {
    Value product = inner().mul(x, y);
    note(product, [&](std::int64_t i, double result) {
      const double a = element(x, i), b = partner(x, y, i);
      if (std::isnan(a) || std::isnan(b)) return NonfiniteEvent{};
      if (std::isnan(result)) return event(CauseKind::zero_times_inf, fmt::format("{:.6g} * {:.6g}", a, b));
      if (std::isinf(a) || std::isinf(b)) return NonfiniteEvent{};
      return event(CauseKind::overflow, fmt::format("{:.6g} * {:.6g}", a, b));
    });
    return product;
  }

  Value div(const Value& x, const Value& y) override {
    Value quotient = inner().div(x, y);
    note(quotient, [&](std::int64_t i, double result) {
      const double a = element(x, i), b = partner(x, y, i);
      if (std::isnan(a) || std::isnan(b)) return NonfiniteEvent{};
      const std::string text = fmt::format("{:.6g} / {:.6g}", a, b);
      if (std::isnan(result)) return event(CauseKind::zero_over_zero, text);
      if (std::isinf(a)) return NonfiniteEvent{};
      return event(b == 0 ? CauseKind::division_by_zero : CauseKind::overflow, text);
    });
    return quotient;
  }

  Value apply(Function function, const Value& x) override {
    Value y = inner().apply(function, x);
    note(y, [&](std::int64_t i, double) {
      const double a = element(x, i);
      if (std::isnan(a) || std::isinf(a)) return NonfiniteEvent{};
      const std::string text = fmt::format("{}({:.6g})", name_of(function), a);
      switch (function) {
        case Function::exp:
          return event(CauseKind::exp_overflow, text);
        case Function::log:
          return event(CauseKind::log_of_nonpositive, text);
        case Function::sqrt:
        case Function::inverse_sqrt:
          return event(CauseKind::rsqrt_of_nonpositive, text);
        default:
          return event(CauseKind::overflow, text);
      }
    });
    return y;
  }

  Value store(const Value& x, DType dtype) override {
    Value stored = inner().store(x, dtype);
    note(stored, [&](std::int64_t i, double) {
      const double a = element(x, i);
      if (!std::isfinite(a)) return NonfiniteEvent{};
      return event(CauseKind::store_overflow,
                   fmt::format("{:.6g} stored to {}: overflow, the largest is {:.6g}", a, name_of(dtype),
                               largest_finite(format_of(dtype))));
    });
    return stored;
  }

 private:
  /// The terms of a sum that came out as NaN or Inf.
  struct Sum {
    double largest = 0, magnitude = 0;
    std::int64_t terms = 0;
    bool nan = false, zero_inf = false, plus = false, minus = false;
    void add(double a, double b) {
      const double p = a * b;
      ++terms;
      if (std::isnan(a) || std::isnan(b)) {
        nan = true;
      } else if (std::isnan(p)) {
        zero_inf = true;
      } else if (std::isinf(p) && (std::isinf(a) || std::isinf(b))) {
        (p > 0 ? plus : minus) = true;
      } else {
        largest = std::max(largest, std::fabs(p));
        magnitude += std::fabs(p);
      }
    }
    NonfiniteEvent event(double result) const {
      if (nan) return {};
      if (zero_inf) return WatchedArithmetic::event(CauseKind::zero_times_inf, "0 * inf in a sum");
      if (plus && minus) return WatchedArithmetic::event(CauseKind::inf_minus_inf, "inf - inf in a sum");
      if (plus || minus) return {};
      return WatchedArithmetic::event(
          CauseKind::overflow,
          fmt::format("sum of {} products, the largest {:.6g}, together up to {:.6g}, is "
                      "{} in the accumulator",
                      terms, largest, magnitude, result));
    }
  };

  static NonfiniteEvent event(CauseKind kind, std::string evidence) {
    NonfiniteEvent e;
    e.kind = kind;
    e.evidence = std::move(evidence);
    return e;
  }
  static NonfiniteEvent added(double a, double b, double result) {
    if (std::isnan(a) || std::isnan(b)) return {};
    if (std::isnan(result)) return event(CauseKind::inf_minus_inf, fmt::format("{:.6g} + {:.6g}", a, b));
    if (std::isinf(a) || std::isinf(b)) return {};
    return event(CauseKind::overflow, fmt::format("{:.6g} + {:.6g}", a, b));
  }

  static double element(const Value& x, std::int64_t i) { return x.v[static_cast<std::size_t>(i)]; }
  static double partner(const Value& x, const Value& y, std::int64_t i) {
    return element(y, broadcast_index(x, y, i));
  }
  static double at(const Value& x, std::int64_t batch, std::int64_t row, std::int64_t col) {
    return element(x, ((x.batch == 1 ? 0 : batch) * x.rows + row) * x.cols + col);
  }

  /// The first event of each row of a result.
  void note(const Value& result, const Classify& classify) {
    for (std::int64_t line = 0; line < result.batch * result.rows; ++line) {
      for (std::int64_t c = 0; c < result.cols; ++c) {
        const std::int64_t i = line * result.cols + c;
        if (std::isfinite(element(result, i))) continue;
        NonfiniteEvent e = classify(i, element(result, i));
        if (e.kind == CauseKind::none) continue;
        if (events_.size() >= most_events) return;
        e.batch = line / result.rows, e.row = line % result.rows, e.col = c;
        e.rows = result.rows, e.cols = result.cols;
        events_.push_back(std::move(e));
        break;
      }
    }
  }

  std::vector<NonfiniteEvent>& events_;
};

}  // namespace

std::string_view name_of(CauseKind kind) {
  static constexpr std::array<std::string_view, 16> names{"none",
                                                          "never written",
                                                          "read outside a tensor",
                                                          "overflow at the store",
                                                          "overflow",
                                                          "exp overflow",
                                                          "inf - inf",
                                                          "0 * inf",
                                                          "0 / 0",
                                                          "division by zero",
                                                          "log of a number <= 0",
                                                          "root of a number <= 0",
                                                          "passed on",
                                                          "the kernel",
                                                          "wrong value",
                                                          "the reference"};
  return names[static_cast<std::size_t>(kind)];
}

std::unique_ptr<Arithmetic> make_watched_arithmetic(Arithmetic& inner, std::vector<NonfiniteEvent>& events) {
  return std::make_unique<WatchedArithmetic>(inner, events);
}

}  // namespace parity
