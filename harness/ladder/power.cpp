#include "harness/ladder/power.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "harness/numerics/element_kernel.hpp"
#include "harness/numerics/integer_matmul.hpp"
#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

/// Elements that are looked at one by one, elements that are judged together, and multiply-adds of a result
/// without its last terms: what the check may cost.
constexpr std::int64_t most_elements = 1 << 20, most_judged = 4096;
constexpr double most_products = 4e6;
constexpr std::int64_t sample_rows = 8, sample_cols = 64;

using Indices = std::vector<std::int64_t>;

/// What the mutants of one output need.
class Mutants {
 public:
  Mutants(const CallResult& call, const Value& want, const Contract& contract, const ReplayResult& replay,
          std::vector<MissedMutant>* missed)
      : call_(call),
        want_(want),
        contract_(contract),
        missed_(missed),
        bits_decide_(wants_bits(contract) || (replay.all_equal() && replay.compared == want.size())) {}

  Power power;

  /// A mutant whose elements follow from their own: `change(index, value)`.
  template <class Change>
  void elementwise(const char* name, const Change& change) {
    const std::int64_t step = std::max<std::int64_t>(1, want_.size() / most_elements);
    bool differs = false;
    for (std::int64_t i = 0; i < want_.size(); i += step) {
      const double got = call_.got->value(i), mutant = stored(change(i, got));
      if (same(got, mutant)) continue;
      differs = true;
      if (seen(i, mutant)) return note(name, true);
    }
    if (!differs) return power.void_mutants.push_back(name);
    Indices block(static_cast<std::size_t>(std::min(want_.size(), std::max(most_judged, want_.cols))));
    std::iota(block.begin(), block.end(), block_begin(static_cast<std::int64_t>(block.size()), change));
    std::vector<double> values;
    for (const std::int64_t i : block) values.push_back(change(i, call_.got->value(i)));
    const bool is_seen = !passes(block, values, want_.cols);
    if (!is_seen && only_rounding(change)) return power.void_mutants.push_back(name);
    note(name, is_seen);
    if (is_seen || missed_ == nullptr) return;
    Value whole = make_value(want_.batch, want_.rows, want_.cols);
    for (std::int64_t i = 0; i < want_.size(); ++i)
      whole.v[static_cast<std::size_t>(i)] = stored(change(i, call_.got->value(i)));
    missed_->push_back({no_tensor, name, std::move(whole)});
  }

  /// Without the last terms of a declared sum.
  void tails() {
    for (const LostTail& lost : lost_tails(call_)) tail(lost.name, lost.axis, lost.count, lost.units);
  }

 private:
  static bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
  double stored(double x) const {
    if (!is_float(contract_.store)) return wrapped_i32(std::nearbyint(x));
    return round_to(format_of(contract_.store), x, contract_.store_rounding);
  }
  void note(const std::string& name, bool is_seen) { (is_seen ? power.seen : power.missed).push_back(name); }

  /// Whether one element, which differs from the passing one, fails by itself.
  bool seen(std::int64_t i, double mutant) const {
    if (bits_decide_) return true;
    const auto at = static_cast<std::size_t>(i);
    const double v = want_.v[at];
    if (std::isnan(v)) return false;
    if (!std::isfinite(v) || !std::isfinite(mutant)) return std::isfinite(v) && want_.hard[at] < HUGE_VAL;
    return std::fabs(mutant - v) > want_.hard[at] + spacing(std::max(std::fabs(v), std::fabs(mutant)));
  }
  double spacing(double magnitude) const {
    const FloatFormat format = format_of(contract_.store);
    const int exponent =
        magnitude == 0 ? format.min_exponent : std::max(std::ilogb(magnitude), format.min_exponent);
    return std::ldexp(1.0, exponent - format.precision + 1);
  }

  /// Whether the mutant changes only elements whose exact value is nothing beside the roundings of fp32 done
  /// as well as can be, whatever this path may do: the sum of terms that cancel by mathematics (the gradient
  /// of a softmax over equal keys). There zero is right, and a multiple of rounding errors is rounding
  /// errors.
  template <class Change>
  bool only_rounding(const Change& change) {
    if (wants_bits(contract_)) return false;
    if (!ideal_) {
      ArithmeticModel model;
      model.accumulation = Accumulation{};
      auto values = call_.op->evaluate(*make_tracked_arithmetic(model), *call_.attributes, call_.inputs);
      ideal_ = values ? std::move((*values)[call_.output]) : Value{};
    }
    if (ideal_->size() != want_.size() || !ideal_->tracked()) return false;
    for (std::int64_t i = 0; i < want_.size(); ++i) {
      const double got = call_.got->value(i);
      if (same(got, stored(change(i, got)))) continue;
      const auto at = static_cast<std::size_t>(i);
      const double lost = ideal_->hard[at] * 0x1p-24;
      if (!std::isfinite(lost) || !(std::fabs(want_.v[at]) <= lost)) return false;
    }
    return true;
  }

  /// Where a block of so many elements shows most of the mutant: whole rows, with the changed ones among
  /// them.
  template <class Change>
  std::int64_t block_begin(std::int64_t size, const Change& change) const {
    for (std::int64_t i = 0; i + size <= want_.size(); i += want_.cols) {
      const double got = call_.got->value(i);
      if (!same(got, change(i, got))) return i;
    }
    return 0;
  }

  /// Whether these elements, `cols` a row, pass with other values.
  bool passes(const Indices& elements, const std::vector<double>& values, std::int64_t cols) const {
    const auto size = static_cast<std::int64_t>(elements.size());
    if (size % cols != 0) cols = size;
    auto tensor = Tensor::create(contract_.store, {size / cols, cols});
    if (!tensor) return false;
    Value part = make_value(1, size / cols, cols);
    const auto pick = [&](const std::vector<double>& from, std::vector<double>& to) {
      if (from.empty()) return;
      to.resize(elements.size());
      for (std::size_t i = 0; i < elements.size(); ++i) to[i] = from[static_cast<std::size_t>(elements[i])];
    };
    pick(want_.v, part.v), pick(want_.hard, part.hard), pick(want_.systematic, part.systematic);
    pick(want_.mean, part.mean), pick(want_.variance, part.variance);
    for (std::int64_t i = 0; i < size; ++i) tensor->set_value(i, stored(values[static_cast<std::size_t>(i)]));
    return judge(*tensor, part, contract_, {}).verdict == Verdict::pass;
  }

  void tail(const std::string& name, const PortAxis& axis, std::int64_t count, std::int64_t units) {
    auto cut = without_last_units(*call_.inputs[axis.port], axis, count);
    if (!cut) return;
    PortTensors ports = call_.inputs;
    ports[axis.port] = &*cut;
    const Indices rows = spaced(want_.rows, sample_rows), cols = spaced(want_.cols, sample_cols);
    auto part = call_.op->restrict_to(*call_.attributes, ports, rows, cols);
    if (part) {
      for (std::size_t i = 0; i < ports.size(); ++i)
        if (ports[i] != nullptr) ports[i] = &(*part)[i];
    } else if (static_cast<double>(want_.size()) * static_cast<double>(units) > most_products) {
      return;
    }
    const auto values = call_.op->evaluate(*make_exact_arithmetic(), *call_.attributes, ports);
    if (!values) return;
    const Value& mutant = (*values)[call_.output];
    Indices elements;
    bool differs = false;
    for (std::int64_t i = 0; i < mutant.size(); ++i) {
      elements.push_back(part ? in_whole(i, rows, cols) : i);
      const double value = stored(mutant.v[static_cast<std::size_t>(i)]);
      if (same(value, call_.got->value(elements.back()))) continue;
      // What rounding alone does is no fault.
      differs = differs || !same(value, stored(want_.v[static_cast<std::size_t>(elements.back())]));
      if (differs && seen_without_rounding(elements.back(), value)) return note(name, true);
    }
    if (!differs) return power.void_mutants.push_back(name);
    const bool is_seen = !passes(elements, mutant.v, mutant.cols);
    note(name, is_seen);
    if (is_seen || missed_ == nullptr) return;
    PortTensors whole = call_.inputs;
    whole[axis.port] = &*cut;
    if (auto all = call_.op->evaluate(*make_exact_arithmetic(), *call_.attributes, whole))
      missed_->push_back({no_tensor, name, std::move((*all)[call_.output])});
  }

  /// As seen(), for a mutant computed without the device's roundings: other bits alone prove nothing.
  bool seen_without_rounding(std::int64_t i, double mutant) const {
    if (wants_bits(contract_)) return true;
    const double v = want_.v[static_cast<std::size_t>(i)];
    // A replayed device without these terms has other bits once they weigh more than its own roundings.
    if (bits_decide_)
      return std::fabs(mutant - v) > 2 * std::fabs(call_.got->value(i) - v) + spacing(std::fabs(v));
    return seen(i, mutant);
  }

  static Indices spaced(std::int64_t n, std::int64_t most) {
    Indices chosen;
    const std::int64_t count = std::min(n, most);
    for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i * n / count);
    return chosen;
  }
  std::int64_t in_whole(std::int64_t i, const Indices& rows, const Indices& cols) const {
    const auto height = static_cast<std::int64_t>(rows.size()),
               width = static_cast<std::int64_t>(cols.size());
    const std::int64_t batch = i / (height * width);
    return (batch * want_.rows + rows[static_cast<std::size_t>(i / width % height)]) * want_.cols +
           cols[static_cast<std::size_t>(i % width)];
  }

  const CallResult& call_;
  const Value& want_;
  const Contract& contract_;
  std::vector<MissedMutant>* missed_;  ///< null: nobody asks
  std::optional<Value> ideal_;         ///< the reference bounded as by an ideal fp32 device; made when needed
  bool bits_decide_;                   ///< one element with other bits is a failure
};

/// A row that is more than rounding, the middle one if it can be; -1: there is none.
std::int64_t row_to_drop(const Value& want, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t row = (rows / 2 + i) % rows;
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto at = static_cast<std::size_t>(row * cols + c);
      if (std::fabs(want.v[at]) > (want.hard.empty() ? 0 : want.hard[at])) return row;
    }
  }
  return -1;
}

}  // namespace

std::vector<LostTail> lost_tails(const CallResult& call) {
  std::vector<std::optional<Shape>> shapes;
  for (const Tensor* port : call.inputs)
    shapes.push_back(port == nullptr ? std::optional<Shape>() : port->shape());
  std::vector<LostTail> tails;
  for (const Symmetry& symmetry : call.op->symmetries(*call.attributes, shapes)) {
    const std::int64_t units = units_along(symmetry, call.inputs);
    if (symmetry.zeros_drop < 0 || units < 2) continue;
    const PortAxis& axis = symmetry.inputs[static_cast<std::size_t>(symmetry.zeros_drop)];
    // What a kernel loses is part of a tile; of a very long sum that may be less than rounding may do.
    const std::int64_t count = std::max(std::clamp<std::int64_t>(units / 2, 1, 16), units / 64);
    tails.push_back(
        {fmt::format("last {} of {} {} dropped", count, units, symmetry.name), axis, count, units});
  }
  return tails;
}

Power measure_power(const CallResult& call, const Value& want, const Contract& contract,
                    const ReplayResult& replay, std::vector<MissedMutant>* missed) {
  if (want.size() == 0 || (!wants_bits(contract) && !want.tracked())) return {};
  Mutants mutants(call, want, contract, replay, missed);
  mutants.elementwise("zeroed", [](std::int64_t, double) { return 0.0; });
  mutants.elementwise("x 2", [](std::int64_t, double x) { return 2 * x; });
  mutants.elementwise("x 1.01", [](std::int64_t, double x) { return 1.01 * x; });
  const std::int64_t rows = want.batch * want.rows, cols = want.cols;
  const std::int64_t dropped = rows < 2 ? -1 : row_to_drop(want, rows, cols);
  if (dropped >= 0)
    mutants.elementwise("row dropped",
                        [&](std::int64_t i, double x) { return i / cols == dropped ? 0.0 : x; });
  mutants.tails();
  return mutants.power;
}

void distrust_powerless(const Power& power, Judgement& judgement) {
  if (judgement.verdict != Verdict::pass || power.missed.empty()) return;
  judgement.verdict = Verdict::untrusted;
  judgement.reasons.insert(
      judgement.reasons.begin(),
      fmt::format("a wrong result would pass too ({}): this case proves nothing about it",
                  fmt::join(power.missed, ", ")));
}

}  // namespace parity
