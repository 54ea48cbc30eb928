#include "harness/faults/corruption.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/tensor/poison.hpp"
#include "harness/tensor/random.hpp"

namespace parity::faults {

namespace {

using Index = std::int64_t;

/// The element at the damage's place, or the next one that is finite and not zero: a change shows there.
Index chosen_element(const DamagedTensor& d) {
  const Index n = d.tensor.elements(), from = d.place(n);
  for (Index i = 0; i < n; ++i) {
    const double value = d.tensor.value((from + i) % n);
    if (std::isfinite(value) && value != 0) return (from + i) % n;
  }
  return from;
}

double rms_of(const Tensor& tensor) {
  double sum = 0;
  Index count = 0;
  for (Index i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.value(i);
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

/// A square of the result, of at most `side`, at the damage's place.
struct Square {
  Index row, col, rows, cols;
};
Square square_of(const DamagedTensor& d, Index side) {
  const Index high = std::min(side, d.batch_rows()), wide = std::min(side, d.cols());
  const Index down = std::max<Index>(1, d.rows() / std::max<Index>(1, high));
  const Index across = std::max<Index>(1, d.cols() / std::max<Index>(1, wide));
  const Index tile = d.place(down * across);
  return {tile / across * high, tile % across * wide, high, wide};
}

void each_of_square(const DamagedTensor& d, Index side, const std::function<void(Index element)>& change) {
  const Square s = square_of(d, side);
  for (Index i = 0; i < s.rows; ++i)
    for (Index j = 0; j < s.cols; ++j) change((s.row + i) * d.cols() + s.col + j);
}

void each_of_row(const DamagedTensor& d, const std::function<void(Index element)>& change) {
  const Index row = d.place(d.rows());
  for (Index j = 0; j < d.cols(); ++j) change(row * d.cols() + j);
}

void scale(Tensor& t, Index i, double by) {
  t.set_value(i, t.value(i) * by);
}

/// Values by a standard normal draw for each element.
double normal_at(const Damage& damage, Index i, std::uint64_t salt) {
  const PhiloxBlock block = philox(damage.seed, static_cast<std::uint64_t>(i), salt);
  return normal_quantile(uniform_open(block.word[0], block.word[1]));
}

/// The axis that is summed over of the right factor of a product: B of a gemm (not transposed), W of linear,
/// or what the stage says. -1: the tensor is no such factor.
int summed_axis(const TensorSpec& spec) {
  const auto rank = static_cast<int>(spec.shape.size());
  if (spec.name == "B") return rank - 2;
  if (spec.name == "W") return rank - 1;
  return spec.content.role == FillRole::right ? spec.content.axis : -1;
}

/// The right factor moved by `severity` of its rms.
void move_inputs(const TensorSpec& spec, const Damage& damage, Tensor& t) {
  if (t.dtype() == DType::i32 || summed_axis(spec) < 0) return;
  const double step = damage.severity * rms_of(t);
  for (Index i = 0; i < t.elements(); ++i) t.set_value(i, t.value(i) + step * normal_at(damage, i, 71));
}

/// Every input of floating type with `severity` bits of significand.
void narrow_inputs(const TensorSpec&, const Damage& damage, Tensor& t) {
  if (!is_float(t.dtype())) return;
  FloatFormat format = format_of(t.dtype());
  format.precision = static_cast<int>(damage.severity);
  for (Index i = 0; i < t.elements(); ++i)
    if (std::isfinite(t.value(i))) t.set_value(i, round_to(format, t.value(i)));
}

/// The last `severity` terms of every sum lost: zeros in one factor.
void lose_tail(const TensorSpec& spec, const Damage& damage, Tensor& t) {
  if (summed_axis(spec) < 0) return;
  const Shape& shape = t.shape();
  const auto axis = static_cast<std::size_t>(summed_axis(spec));
  Index inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const Index terms = shape[axis], kept = std::max<Index>(0, terms - static_cast<Index>(damage.severity));
  for (Index i = 0; i < t.elements(); ++i)
    if (i / inner % terms >= kept) t.set_value(i, 0);
}

void same_input(const TensorSpec&, const Damage&, Tensor&) {}

void take_all(const DamagedTensor& d) {
  for (Index i = 0; i < d.tensor.elements(); ++i) d.tensor.set_bits(i, d.other->bits(i));
}
void take_square(const DamagedTensor& d) {
  each_of_square(d, 16, [&](Index i) { d.tensor.set_bits(i, d.other->bits(i)); });
}

void add_ulps(const DamagedTensor& d, Index i, double count) {
  const FloatFormat format = format_of(d.tensor.dtype());
  const double value = d.tensor.value(i);
  const int exponent = std::max(value == 0 ? format.min_exponent : std::ilogb(value), format.min_exponent);
  d.tensor.set_value(i, value + count * std::ldexp(1.0, exponent - format.precision + 1));
}

/// Changes the bytes of one tensor of the program in place, on the device.
Result<void> rewrite(Session& session, TensorId id, const std::function<void(Tensor&)>& change) {
  auto tensor = session.read(id);
  if (!tensor) return tl::unexpected(tensor.error());
  change(*tensor);
  return session.write(id, *tensor);
}

Result<void> damage_input(const Program& program, const Damage& damage, Session& session) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.role != TensorSpec::Role::input || spec.is_view() || spec.dtype == DType::i32) continue;
    return rewrite(session, static_cast<TensorId>(i), [&](Tensor& t) {
      if (t.elements() == 0) return;
      const DamagedTensor d{t, nullptr, damage};
      t.set_bits(d.place(t.elements()), t.bits(d.place(t.elements())) + 1);
    });
  }
  return {};
}

/// Writes into the first pad, where a tensor has one.
Result<void> damage_pad(const Program& program, const Damage&, Session& session) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.role != TensorSpec::Role::output || spec.is_view()) continue;
    return rewrite(session, static_cast<TensorId>(i), [&](Tensor& t) {
      if (t.shape().size() < 2 || t.extent() == t.elements()) return;
      const std::size_t at = static_cast<std::size_t>(t.shape().back()) * size_of(t.dtype());
      std::fill_n(t.bytes().begin() + static_cast<std::ptrdiff_t>(at), size_of(t.dtype()), std::byte{});
    });
  }
  return {};
}

void poison_element(Tensor& t, Index i) {
  t.set_bits(i, poison_bits(t.dtype(), Poison::unwritten));
}

const std::vector<CorruptionKind>& kinds() {
  static const std::vector<CorruptionKind> list = {
      {.name = "element-scaled",
       .help = "one element times 1 + severity",
       .severity = "relative change",
       .result = [](const DamagedTensor& d) { scale(d.tensor, chosen_element(d), 1 + d.damage.severity); }},
      {.name = "element-moved",
       .help = "one element moved by units in its last place",
       .severity = "ULP",
       .result = [](const DamagedTensor& d) { add_ulps(d, chosen_element(d), d.damage.severity); }},
      {.name = "element-zeroed",
       .help = "one element is 0",
       .severity = "",
       .result = [](const DamagedTensor& d) { d.tensor.set_value(chosen_element(d), 0); }},
      {.name = "element-negated",
       .help = "one element with the other sign",
       .severity = "",
       .result = [](const DamagedTensor& d) { scale(d.tensor, chosen_element(d), -1); }},
      {.name = "all-scaled",
       .help = "the whole result times 1 + severity",
       .severity = "relative change",
       .result =
           [](const DamagedTensor& d) {
             for (Index i = 0; i < d.tensor.elements(); ++i) scale(d.tensor, i, 1 + d.damage.severity);
           }},
      {.name = "all-noisy",
       .help = "every element times 1 + severity N(0, 1)",
       .severity = "relative deviation",
       .result =
           [](const DamagedTensor& d) {
             for (Index i = 0; i < d.tensor.elements(); ++i)
               scale(d.tensor, i, 1 + d.damage.severity * normal_at(d.damage, i, 5));
           }},
      {.name = "row-zeroed",
       .help = "one row is 0",
       .severity = "",
       .result = [](const DamagedTensor& d) { each_of_row(d, [&](Index i) { d.tensor.set_value(i, 0); }); }},
      {.name = "row-scaled",
       .help = "one row times 1 + severity",
       .severity = "relative change",
       .result =
           [](const DamagedTensor& d) {
             each_of_row(d, [&](Index i) { scale(d.tensor, i, 1 + d.damage.severity); });
           }},
      {.name = "row-repeated",
       .help = "a row holds what belongs to the row before it (a stride of 0)",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             const Index row = std::max<Index>(1, d.place(d.rows()));
             if (row >= d.rows()) return;
             for (Index j = 0; j < d.cols(); ++j)
               d.tensor.set_bits(row * d.cols() + j, d.tensor.bits((row - 1) * d.cols() + j));
           }},
      {.name = "rows-shifted",
       .help = "each row starts one element too far on (a stride of one too many)",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             const Tensor healthy = d.tensor;
             const Index n = d.tensor.elements();
             for (Index i = 0; i < n; ++i) d.tensor.set_bits(i, healthy.bits((i + i / d.cols()) % n));
           }},
      {.name = "column-offset",
       .help = "one column short of a bias of severity times the result's rms",
       .severity = "of the rms",
       .result =
           [](const DamagedTensor& d) {
             const double bias = d.damage.severity * rms_of(d.tensor);
             const Index col = d.place(d.cols());
             for (Index row = 0; row < d.rows(); ++row)
               d.tensor.set_value(row * d.cols() + col, d.tensor.value(row * d.cols() + col) - bias);
           }},
      {.name = "tile-transposed",
       .help = "a square of the result, severity wide, transposed",
       .severity = "side",
       .result =
           [](const DamagedTensor& d) {
             const Square s = square_of(d, static_cast<Index>(d.damage.severity));
             const Index side = std::min(s.rows, s.cols);
             const Tensor healthy = d.tensor;
             for (Index i = 0; i < side; ++i)
               for (Index j = 0; j < side; ++j)
                 d.tensor.set_bits((s.row + i) * d.cols() + s.col + j,
                                   healthy.bits((s.row + j) * d.cols() + s.col + i));
           }},
      {.name = "tile-stale",
       .help = "a 16x16 tile of the result that belongs to weights severity away",
       .severity = "of the weights' rms",
       .input = move_inputs,
       .result = take_square},
      {.name = "all-stale",
       .help = "the whole result belongs to weights severity away",
       .severity = "of the weights' rms",
       .input = move_inputs,
       .result = take_all},
      {.name = "tail-lost",
       .help = "the last severity terms of every sum left out",
       .severity = "terms",
       .input = lose_tail,
       .result = take_all},
      {.name = "tail-lost-in-tile",
       .help = "the last severity terms left out in one 16x16 tile",
       .severity = "terms",
       .input = lose_tail,
       .result = take_square},
      {.name = "inputs-narrowed",
       .help = "inputs rounded to severity bits of significand on their way (8: through bf16)",
       .severity = "bits",
       .input = narrow_inputs,
       .result = take_all},
      {.name = "store-truncating",
       .help = "the fp32 result cut off, not rounded, when it is stored",
       .severity = "",
       .input = same_input,
       .stores_f32 = true,
       .result =
           [](const DamagedTensor& d) {
             for (Index i = 0; i < d.tensor.elements(); ++i)
               d.tensor.set_bits(i, encode(d.tensor.dtype(), d.other->value(i), Rounding::toward_zero));
           }},
      {.name = "tile-unwritten",
       .help = "a 16x16 tile that nobody wrote",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             each_of_square(d, 16, [&](Index i) { poison_element(d.tensor, i); });
           }},
      {.name = "element-unwritten",
       .help = "one element that nobody wrote",
       .severity = "",
       .result = [](const DamagedTensor& d) { poison_element(d.tensor, d.place(d.tensor.elements())); }},
      {.name = "element-nan",
       .help = "one element is NaN",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             d.tensor.set_value(chosen_element(d), std::numeric_limits<double>::quiet_NaN());
           }},
      {.name = "nan-swallowed",
       .help = "every NaN of the result became 0",
       .severity = "",
       .all_outputs = true,
       .result =
           [](const DamagedTensor& d) {
             for (Index i = 0; i < d.tensor.elements(); ++i)
               if (std::isnan(d.tensor.value(i))) d.tensor.set_value(i, 0);
           }},
      {.name = "infinity-clamped",
       .help = "infinities became the largest finite number",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             for (Index i = 0; i < d.tensor.elements(); ++i)
               if (std::isinf(d.tensor.value(i)))
                 d.tensor.set_bits(i, encode(d.tensor.dtype(), d.tensor.value(i) > 0 ? 1e300 : -1e300,
                                             Rounding::toward_zero));
           }},
      {.name = "subnormals-flushed",
       .help = "subnormal results became 0",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             const double least = std::ldexp(1.0, format_of(d.tensor.dtype()).min_exponent);
             for (Index i = 0; i < d.tensor.elements(); ++i)
               if (std::abs(d.tensor.value(i)) < least) d.tensor.set_value(i, 0);
           }},
      {.name = "batch-repeated",
       .help = "every batch entry holds the first one's result",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             const Index one = d.batch_rows() * d.cols();
             for (Index i = one; i < d.tensor.elements(); ++i) d.tensor.set_bits(i, d.tensor.bits(i % one));
           }},
      {.name = "second-run-differs",
       .help = "the first run is healthy; from the second on one element is severity off (a race)",
       .severity = "relative change",
       .result =
           [](const DamagedTensor& d) {
             if (d.run > 1) scale(d.tensor, chosen_element(d), 1 + d.damage.severity);
           }},
      {.name = "second-run-unwritten",
       .help = "the first run is healthy; from the second on one row is not written",
       .severity = "",
       .result =
           [](const DamagedTensor& d) {
             if (d.run > 1) each_of_row(d, [&](Index i) { poison_element(d.tensor, i); });
           }},
      {.name = "input-overwritten",
       .help = "one element of an input moved by a unit in its last place, at every run",
       .severity = "",
       .memory = damage_input},
      {.name = "pad-overwritten",
       .help = "a pad between two rows of the result written",
       .severity = "",
       .memory = damage_pad},
      {.name = "state-not-carried",
       .help = "the next step starts from the old state",
       .severity = "",
       .forgets_to_advance = true},
  };
  return list;
}

}  // namespace

std::span<const CorruptionKind> corruption_kinds() {
  return kinds();
}

const CorruptionKind* find_corruption(std::string_view name) {
  for (const CorruptionKind& kind : kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

}  // namespace parity::faults
