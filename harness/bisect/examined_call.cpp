#include "harness/bisect/examined_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/numerics/arithmetic.hpp"
#include "harness/tensor/poison.hpp"
#include "harness/tensor/tensor_scan.hpp"

namespace parity {
namespace {

bool finite_at(const Value& x, std::int64_t i) {
  return std::isfinite(x.v[static_cast<std::size_t>(i)]);
}

bool any_nonfinite_input(const PortTensors& inputs) {
  return std::ranges::any_of(inputs, [](const Tensor* t) {
    return t != nullptr && is_float(t->dtype()) && scan_tensor(*t).nonfinite() > 0;
  });
}

/// The event of the element's row, else the first there is.
const NonfiniteEvent* event_for(const std::vector<NonfiniteEvent>& events, const Value& result,
                                std::int64_t element) {
  if (events.empty()) return nullptr;
  const std::int64_t row = element / result.cols % result.rows, batch = element / result.cols / result.rows;
  for (const NonfiniteEvent& e : events)
    if (e.rows == result.rows && e.row == row && e.batch == batch) return &e;
  return &events.front();
}

struct Evaluated {
  Value value;  ///< stored
  std::vector<NonfiniteEvent> events;
};

Result<Evaluated> evaluate(Arithmetic& inner, const CallResult& call, bool stores) {
  Evaluated result;
  const auto watched = make_watched_arithmetic(inner, result.events);
  auto values = call.op->evaluate(*watched, *call.attributes, call.inputs);
  if (!values) return tl::unexpected(values.error());
  result.value = std::move((*values)[call.output]);
  if (stores) result.value = watched->store(result.value, call.got->dtype());
  return result;
}

/// The arithmetic the path declares, or the plain chain nearest to it.
ArithmeticModel model_of(const Implementation& implementation, DType store) {
  ArithmeticModel model = implementation.replays.empty() ? plain_chains(implementation.contract).front()
                                                         : implementation.replays.front();
  model.precision.store = store;
  return model;
}

/// What the bits of a NaN tell.
std::optional<Cause> poison_cause(const Tensor& got, std::int64_t element) {
  const std::uint64_t bits = got.bits(element);
  if (bits == poison_bits(got.dtype(), Poison::unwritten))
    return Cause{CauseKind::never_written,
                 fmt::format("{:#x}: the element still holds what it was filled with before the run", bits)};
  if (bits == poison_bits(got.dtype(), Poison::guard))
    return Cause{CauseKind::stray_read,
                 fmt::format("{:#x}: bits that stand only outside tensors, in pads and guard zones", bits)};
  return std::nullopt;
}

Cause blame_kernel(const CallResult& call, std::int64_t element, double reference) {
  if (auto cause = poison_cause(*call.got, element)) return *std::move(cause);
  if (auto hint = hint_for(call, element)) return *std::move(hint);
  if (any_nonfinite_input(call.inputs))
    return {CauseKind::passed_on,
            fmt::format(
                "its inputs hold NaN or Inf that this element does not depend on: the reference is {:.6g}",
                reference)};
  return {CauseKind::kernel,
          fmt::format("finite inputs, and {:.6g} in the arithmetic that the path declares", reference)};
}

}  // namespace

ExaminedCall examine_judgement(const Judgement& judgement, const Tensor& got) {
  ExaminedCall examined;
  examined.producer = true;
  examined.cause = {CauseKind::wrong_value, judgement.reasons.empty() ? std::string("outside its contract")
                                                                      : judgement.reasons.front()};
  examined.elements = judgement.statistics.outside_spread;
  if (judgement.statistics.worst.empty()) return examined;
  const WorstElement& worst = judgement.statistics.worst.front();
  examined.element = worst.index, examined.got = worst.got, examined.got_bits = worst.got_bits;
  examined.exact = worst.want, examined.hard = worst.bound;
  // Poison of integers is finite.
  if (auto cause = poison_cause(got, worst.index)) examined.cause = *std::move(cause);
  return examined;
}

std::vector<std::int64_t> place_in(const Shape& shape, std::int64_t index) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; index /= std::max<std::int64_t>(shape[d], 1))
    place[d] = index % std::max<std::int64_t>(shape[d], 1);
  return place;
}

Result<ExaminedCall> examine_nonfinite(const CallResult& call, const Implementation& implementation) {
  const auto exact_arithmetic = make_exact_arithmetic();
  auto exact = evaluate(*exact_arithmetic, call, false);
  if (!exact) return tl::unexpected(exact.error());
  const ArithmeticModel model = model_of(implementation, call.got->dtype());
  std::optional<Evaluated> emulated;
  if (auto arithmetic = make_emulated_arithmetic(model)) {
    auto evaluated = evaluate(**arithmetic, call, true);
    if (!evaluated) return tl::unexpected(evaluated.error());
    emulated = *std::move(evaluated);
  }
  const Evaluated& expected = emulated ? *emulated : *exact;

  ExaminedCall result;
  std::int64_t first = -1, unexplained = -1, count = 0, unexplained_count = 0;
  for (std::int64_t i = 0; i < call.got->elements(); ++i) {
    if (std::isfinite(call.got->value(i))) continue;
    ++count;
    if (first < 0) first = i;
    if (!finite_at(expected.value, i)) continue;
    ++unexplained_count;
    if (unexplained < 0) unexplained = i;
  }
  if (first < 0) return fail(ErrorKind::internal, "a call without NaN or Inf was examined for them");
  result.element = unexplained >= 0 ? unexplained : first;
  result.elements = unexplained >= 0 ? unexplained_count : count;
  result.got = call.got->value(result.element);
  result.got_bits = call.got->bits(result.element);
  const auto at = static_cast<std::size_t>(result.element);
  result.exact = exact->value.v[at];
  if (emulated) result.emulated = emulated->value.v[at];
  const auto tracked = make_tracked_arithmetic(model);
  if (auto values = call.op->evaluate(*tracked, *call.attributes, call.inputs); values) {
    const Value& bounded = (*values)[call.output];
    if (!bounded.hard.empty()) result.hard = bounded.hard[at];
  }

  if (unexplained >= 0) {
    result.producer = true;
    result.cause = blame_kernel(call, unexplained, expected.value.v[at]);
    return result;
  }
  if (const NonfiniteEvent* event = event_for(expected.events, expected.value, first)) {
    result.producer = true;
    result.cause = {event->kind, event->evidence};
    return result;
  }
  result.cause = {CauseKind::passed_on, "the same elements are not finite in the reference of its inputs"};
  return result;
}

}  // namespace parity
