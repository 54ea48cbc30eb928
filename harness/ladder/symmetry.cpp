#include "harness/ladder/symmetry.hpp"

#include <algorithm>
#include <numeric>

#include "harness/tensor/poison.hpp"
#include "harness/tensor/random.hpp"

namespace parity {
namespace {

/// A tensor as [outer, axis, inner].
struct Split {
  std::int64_t outer = 1, extent = 1, inner = 1;
  std::size_t dimension = 0;
  bool there = false;
};

Split split_at(const Shape& shape, std::size_t from_last) {
  Split split;
  if (from_last >= shape.size()) return split;
  split.there = true;
  split.dimension = shape.size() - 1 - from_last;
  split.extent = shape[split.dimension];
  for (std::size_t d = 0; d < split.dimension; ++d) split.outer *= shape[d];
  for (std::size_t d = split.dimension + 1; d < shape.size(); ++d) split.inner *= shape[d];
  return split;
}

/// Units of one stretch; 0 where the axis is not made of whole ones.
std::int64_t units_of(const Shape& shape, const PortAxis& axis) {
  const Split split = split_at(shape, axis.from_last);
  const std::int64_t stretch = axis.stretch == 0 ? split.extent : axis.stretch;
  if (!split.there || stretch == 0 || split.extent % stretch != 0 || stretch % axis.unit != 0) return 0;
  return stretch / axis.unit;
}

}  // namespace

std::string_view name_of(Symmetry::Kind kind) {
  switch (kind) {
    case Symmetry::Kind::reduction:
      return "reduction";
    case Symmetry::Kind::batch:
      return "batch";
    case Symmetry::Kind::position:
      return "position";
  }
  return "unknown";
}

std::int64_t units_along(const Symmetry& symmetry, std::span<const std::optional<Shape>> inputs) {
  std::int64_t units = 0;
  for (const PortAxis& axis : symmetry.inputs) {
    if (axis.values || axis.port >= inputs.size() || !inputs[axis.port]) continue;
    const std::int64_t own = units_of(*inputs[axis.port], axis);
    if (own == 0 || (units != 0 && own != units)) return 0;
    units = own;
  }
  return units;
}

std::int64_t units_along(const Symmetry& symmetry, const std::vector<const Tensor*>& inputs) {
  std::vector<std::optional<Shape>> shapes;
  for (const Tensor* input : inputs)
    shapes.push_back(input == nullptr ? std::optional<Shape>() : input->shape());
  return units_along(symmetry, std::span<const std::optional<Shape>>(shapes));
}

std::vector<std::int64_t> shuffled_units(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t i = n - 1; i > 0; --i) {
    const PhiloxBlock block =
        philox(seed, static_cast<std::uint64_t>(i), 0x73796d);  // "sym": its own counter
    const auto random = (static_cast<std::uint64_t>(block.word[0]) << 32) | block.word[1];
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(random % static_cast<std::uint64_t>(i + 1))]);
  }
  return order;
}

std::vector<std::int64_t> inverse_of(std::span<const std::int64_t> order) {
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

Result<Tensor> take_units(const Tensor& tensor, const PortAxis& axis, std::span<const std::int64_t> units) {
  const Split split = split_at(tensor.shape(), axis.from_last);
  const std::int64_t all = units_of(tensor.shape(), axis);
  if (all == 0) return fail(ErrorKind::internal, "a tensor has no whole units along its axis");
  const std::int64_t stretch = all * axis.unit;
  std::vector<std::int64_t> source;
  for (std::int64_t first = 0; first < split.extent; first += stretch)
    for (const std::int64_t unit : units)
      for (std::int64_t i = 0; i < axis.unit; ++i) source.push_back(first + unit * axis.unit + i);
  Shape shape = tensor.shape();
  shape[split.dimension] = static_cast<std::int64_t>(source.size());
  auto out = shape == tensor.shape() ? Tensor::create(tensor.dtype(), shape, tensor.strides())
                                     : Tensor::create(tensor.dtype(), shape);
  if (!out) return out;
  poison_pads(*out, Poison::guard);
  std::int64_t at = 0;
  for (std::int64_t o = 0; o < split.outer; ++o)
    for (const std::int64_t from : source)
      for (std::int64_t i = 0; i < split.inner; ++i)
        out->set_bits(at++, tensor.bits((o * split.extent + from) * split.inner + i));
  return out;
}

Result<Tensor> without_last_units(const Tensor& tensor, const PortAxis& axis, std::int64_t count) {
  const Split split = split_at(tensor.shape(), axis.from_last);
  const std::int64_t all = units_of(tensor.shape(), axis);
  if (all == 0) return fail(ErrorKind::internal, "a tensor has no whole units along its axis");
  Tensor out = tensor;
  for (std::int64_t o = 0; o < split.outer; ++o)
    for (std::int64_t x = 0; x < split.extent; ++x) {
      if (x % (all * axis.unit) / axis.unit < all - count) continue;
      for (std::int64_t i = 0; i < split.inner; ++i)
        out.set_bits((o * split.extent + x) * split.inner + i, 0);
    }
  return out;
}

Result<std::map<std::size_t, Tensor>> take_inputs(const Symmetry& symmetry,
                                                  const std::vector<const Tensor*>& inputs,
                                                  std::span<const std::int64_t> units) {
  std::map<std::size_t, Tensor> changed;
  for (const PortAxis& axis : symmetry.inputs) {
    if (axis.port >= inputs.size() || inputs[axis.port] == nullptr) continue;
    const auto before = changed.find(axis.port);
    const Tensor& from = before == changed.end() ? *inputs[axis.port] : before->second;
    if (!axis.values) {
      auto taken = take_units(from, axis, units);
      if (!taken) return tl::unexpected(taken.error());
      changed.insert_or_assign(axis.port, *std::move(taken));
      continue;
    }
    const std::vector<std::int64_t> renamed = inverse_of(units);
    Tensor out = from;
    for (std::int64_t i = 0; i < out.elements(); ++i)
      out.set_value(i, static_cast<double>(renamed[static_cast<std::size_t>(from.value(i))]));
    changed.insert_or_assign(axis.port, std::move(out));
  }
  return changed;
}

}  // namespace parity
