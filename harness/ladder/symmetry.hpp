#pragma once
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// Where an index runs in the tensor of a port.
struct PortAxis {
  std::size_t port = 0;
  std::size_t from_last = 0;  ///< the dimension, counted from the last
  /// The dimension is cut into stretches of so many entries (heads, batch entries), all treated alike; 0:
  /// one.
  std::int64_t stretch = 0;
  std::int64_t unit = 1;  ///< neighbours that stay together
  bool values = false;    ///< the tensor holds such indices (i32): a permutation renames them
};

/// What an op's mathematics leaves open: an index along which inputs may be permuted. The order experiments
/// (order_experiments.hpp) and the mutants of a case (power.hpp) follow from these declarations.
struct Symmetry {
  enum class Kind : std::uint8_t {
    reduction,  ///< terms of a sum: other roundings, the same mathematics
    batch,      ///< entries that know nothing of each other: one alone has the same result
    position,   ///< entries that move with the inputs; they need not be defined alone
  };
  Kind kind = Kind::reduction;
  std::string_view name;               ///< "k", "rows", "keys"
  std::vector<PortAxis> inputs = {};   ///< permuted together; ports that are absent are passed over
  std::vector<PortAxis> outputs = {};  ///< move with them; an output that is not named stays where it is
  bool additive = false;               ///< reduction: results of parts of it add up to the whole
  int zeros_drop =
      -1;  ///< reduction: position in `inputs` of the factor whose zeros take terms out; -1: none
};
std::string_view name_of(Symmetry::Kind kind);

/// Units along the index in one stretch of the inputs; 0 where they do not agree.
std::int64_t units_along(const Symmetry& symmetry, const std::vector<const Tensor*>& inputs);
/// The same from shapes; absent port: nullopt.
std::int64_t units_along(const Symmetry& symmetry, std::span<const std::optional<Shape>> inputs);

/// 0 .. n-1 shuffled by `seed` (Philox): the same on every machine.
std::vector<std::int64_t> shuffled_units(std::int64_t n, std::uint64_t seed);
std::vector<std::int64_t> inverse_of(std::span<const std::int64_t> order);

/// The units in the given order, in every stretch; others are left out. With all units the strides stay.
Result<Tensor> take_units(const Tensor& tensor, const PortAxis& axis, std::span<const std::int64_t> units);
/// The tensor with zeros in the last `count` units of every stretch.
Result<Tensor> without_last_units(const Tensor& tensor, const PortAxis& axis, std::int64_t count);
/// The input tensors that change when only `units` are taken, in this order, by port.
Result<std::map<std::size_t, Tensor>> take_inputs(const Symmetry& symmetry,
                                                  const std::vector<const Tensor*>& inputs,
                                                  std::span<const std::int64_t> units);

}  // namespace parity
