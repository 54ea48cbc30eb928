#include "harness/ladder/reference_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/ladder/closed_form.hpp"
#include "harness/numerics/integer_matmul.hpp"

namespace parity {
namespace {

/// fp64 in any order; functions of the C library, and what is composed of them, within 8 ULP.
ArithmeticModel fp64_model() {
  ArithmeticModel model;
  model.precision = {DType::f64, format_of(DType::f64), DType::f64, DType::f64, DType::f64};
  model.sigmoid = model.tanh = model.exp = model.log = model.sqrt = model.inverse_sqrt =
      model.divide = {8, 0, 0};
  return model;
}

double hard_of(const Value& value, std::size_t i) {
  return value.hard.empty() ? 0 : value.hard[i];
}

/// "element 7: 1.5 and 2, which are within 1e-15 of each other at most" for the worst element, or empty.
/// Where `allowed` is not finite, nothing is said.
template <class Allowed>
std::string disagreement(const Value& a, const Value& b, const Allowed& allowed) {
  if (a.size() != b.size()) return fmt::format("{} and {} elements", a.size(), b.size());
  double worst = 1;
  std::size_t at = a.v.size();
  for (std::size_t i = 0; i < a.v.size(); ++i) {
    if (!std::isfinite(a.v[i]) || !std::isfinite(b.v[i]) || a.v[i] == b.v[i]) continue;
    const double limit = allowed(i);
    if (std::isnan(limit)) continue;
    const double part = limit > 0 ? std::fabs(a.v[i] - b.v[i]) / limit : HUGE_VAL;
    if (part > worst) worst = part, at = i;
  }
  if (at == a.v.size()) return {};
  return fmt::format("element {}: {:.17g} and {:.17g}, where they may be {:.3g} apart", at, a.v[at], b.v[at],
                     allowed(at));
}

using MaybeValues = std::optional<std::vector<Value>>;

MaybeValues evaluate_call(const CallResult& call, Arithmetic& arithmetic, const PortTensors& inputs) {
  auto values = call.op->evaluate(arithmetic, *call.attributes, inputs);
  if (!values) return std::nullopt;
  return *std::move(values);
}

/// An output as a tensor, for what moves units of tensors.
std::optional<Tensor> as_tensor(const Value& value, const Shape& shape) {
  auto tensor = Tensor::create(DType::f64, shape);
  if (!tensor || tensor->elements() != value.size()) return std::nullopt;
  for (std::int64_t i = 0; i < value.size(); ++i) tensor->set_value(i, value.v[static_cast<std::size_t>(i)]);
  return *std::move(tensor);
}

class Check {
 public:
  Check(const OpTable& ops, const CallResult& call, const Implementation& implementation)
      : ops_(ops),
        call_(call),
        implementation_(implementation),
        fp64_(fp64_model()),
        integers_(sums_integers(implementation.contract)) {}

  ReferenceCheck run() {
    arithmetics();
    if (result_.contradiction.empty()) symmetries();
    if (result_.contradiction.empty()) formula();
    if (result_.contradiction.empty() && !integers_) {
      bool made = false;
      const std::string what = gradient_contradiction(ops_, call_, fp64_, made);
      if (made) contradict("the op and its gradient rule", what);
    }
    return std::move(result_);
  }

 private:
  void contradict(const std::string& check, const std::string& what) {
    result_.made.push_back(check);
    if (!what.empty() && result_.contradiction.empty())
      result_.contradiction = fmt::format("{}: {}", check, what);
  }
  /// The truth: in fp64, or modulo 2^32.
  std::unique_ptr<Arithmetic> plain_arithmetic() const {
    return integers_ ? make_integer_arithmetic(false) : make_exact_arithmetic();
  }
  void arithmetics();
  void symmetries();
  void formula();
  void permuted(const Symmetry& symmetry, std::span<const Shape> shapes);

  const OpTable& ops_;
  const CallResult& call_;
  const Implementation& implementation_;
  ArithmeticModel fp64_;
  bool integers_;
  std::vector<Value> exact_, bounded_;  ///< all outputs, in fp64; `bounded_` with the bounds of fp64
  ReferenceCheck result_;
};

void Check::arithmetics() {
  const auto plain = plain_arithmetic();
  auto exact = evaluate_call(call_, *plain, call_.inputs);
  auto bounded = evaluate_call(
      call_, *(integers_ ? make_integer_arithmetic(true) : make_tracked_arithmetic(fp64_)), call_.inputs);
  if (!exact || !bounded) return;
  exact_ = *std::move(exact), bounded_ = *std::move(bounded);
  const Value& truth = exact_[call_.output];
  contradict(integers_ ? "two ways to add up integers" : "exact and tracked evaluation in fp64",
             disagreement(truth, bounded_[call_.output],
                          [&](std::size_t i) { return 2 * hard_of(bounded_[call_.output], i); }));

  ArithmeticModel contract = implementation_.contract;
  contract.precision.store = call_.got->dtype();
  const auto tracked = make_tracked_arithmetic(contract);
  auto judged = evaluate_call(call_, *tracked, call_.inputs);
  if (!judged) return;
  // The values of both are fp64's; what the path rounds is in the bound.
  contradict("exact evaluation and the one the device is judged by",
             disagreement(truth, (*judged)[call_.output], [&](std::size_t i) {
               return hard_of((*judged)[call_.output], i) + 2 * hard_of(bounded_[call_.output], i);
             }));

  ArithmeticModel model = implementation_.replays.empty() ? plain_chains(implementation_.contract).front()
                                                          : implementation_.replays.front();
  model.precision.store = call_.got->dtype();
  const auto emulation = make_emulated_arithmetic(model);
  if (!emulation) return;
  auto emulated = evaluate_call(call_, **emulation, call_.inputs);
  if (!emulated) return;
  const Value bits = (*emulation)->store((*emulated)[call_.output], call_.got->dtype());
  const Value limits = tracked->store((*judged)[call_.output], call_.got->dtype());
  contradict("the path's emulated arithmetic and its bound",
             disagreement(bits, limits, [&](std::size_t i) { return hard_of(limits, i); }));
}

void Check::permuted(const Symmetry& symmetry, std::span<const Shape> shapes) {
  const std::int64_t units = units_along(symmetry, call_.inputs);
  if (units < 2) return;
  const std::vector<std::int64_t> order = shuffled_units(units, 1);
  const std::vector<std::int64_t> back = inverse_of(order);
  const auto changed = take_inputs(symmetry, call_.inputs, order);
  if (!changed) return;
  PortTensors inputs = call_.inputs;
  for (const auto& [port, tensor] : *changed) inputs[port] = &tensor;
  const auto plain = plain_arithmetic();
  const auto values = evaluate_call(call_, *plain, inputs);
  if (!values) return;
  Value moved = (*values)[call_.output];
  for (const PortAxis& axis : symmetry.outputs) {
    if (axis.port != call_.output) continue;
    const auto tensor = as_tensor(moved, shapes[call_.output]);
    if (!tensor) return;
    const auto restored = take_units(*tensor, axis, back);
    if (!restored) return;
    for (std::int64_t i = 0; i < moved.size(); ++i) moved.v[static_cast<std::size_t>(i)] = restored->value(i);
  }
  contradict(fmt::format("with its inputs permuted along {}", symmetry.name),
             disagreement(exact_[call_.output], moved,
                          [&](std::size_t i) { return 2 * hard_of(bounded_[call_.output], i); }));
}

void Check::symmetries() {
  std::vector<std::optional<Shape>> inputs;
  for (const Tensor* tensor : call_.inputs)
    inputs.push_back(tensor == nullptr ? std::nullopt : std::optional(tensor->shape()));
  const auto shapes = call_.op->infer(*call_.attributes, inputs);
  if (!shapes || exact_.empty()) return;
  for (const Symmetry& symmetry : call_.op->symmetries(*call_.attributes, inputs))
    if (result_.contradiction.empty()) permuted(symmetry, *shapes);
}

/// Elements evenly over the result: each costs as much as its formula sums.
void Check::formula() {
  constexpr std::int64_t most_asked = 64;
  if (exact_.empty()) return;
  Value asked = exact_[call_.output], told = asked;
  const std::int64_t stride = std::max<std::int64_t>(1, asked.size() / most_asked);
  bool made = false;
  for (std::int64_t i = 0; i < asked.size(); i += stride) {
    const auto value = closed_form(call_.op->name(), *call_.attributes, call_.inputs, call_.output, i);
    if (!value) return;
    const auto number = static_cast<double>(*value);
    told.v[static_cast<std::size_t>(i)] = integers_ ? wrapped_i32(number) : number;
    made = true;
  }
  // What the formula itself rounds, to fp64 at the end, is a part of the tracked bound.
  if (made)
    contradict("a formula of its own", disagreement(asked, told, [&](std::size_t i) {
                 return 2 * hard_of(bounded_[call_.output], i);
               }));
}

}  // namespace

ReferenceCheck check_reference(const OpTable& ops, const CallResult& call,
                               const Implementation& implementation, double multiply_adds,
                               double most_operations) {
  if (multiply_adds <= most_operations) return Check(ops, call, implementation).run();
  const double share = std::sqrt(most_operations / multiply_adds);
  const auto part = [&](std::size_t from_last) {
    const Shape& shape = call.got->shape();
    const std::int64_t size = shape.size() > from_last ? shape[shape.size() - 1 - from_last] : 1;
    return choose_indices(size, static_cast<std::int64_t>(static_cast<double>(size) * share) + 1, 1);
  };
  const auto rows = part(1), cols = part(0);
  const auto restricted =
      call.output == 0 ? call.op->restrict_to(*call.attributes, call.inputs, rows, cols) : std::nullopt;
  const auto got = Tensor::create(
      call.got->dtype(), {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(cols.size())});
  if (!restricted || !got) return {};
  CallResult sample = call;
  sample.got = &*got;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i)
    if (sample.inputs[i] != nullptr) sample.inputs[i] = &(*restricted)[i];
  return Check(ops, sample, implementation).run();
}

}  // namespace parity
