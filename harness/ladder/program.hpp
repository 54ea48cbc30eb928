#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/ladder/attributes.hpp"
#include "harness/numerics/arithmetic_model.hpp"
#include "harness/tensor/fill.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// Index into Program::tensors.
using TensorId = std::int32_t;
inline constexpr TensorId no_tensor = -1;  ///< an optional port left empty

/// What an input holds when nobody brings it.
struct Content {
  enum class Kind : std::uint8_t {
    values,       ///< the case's fill, times `scale`
    constant,     ///< `scale` everywhere
    magnitudes,   ///< |the case's fill| times `scale`
    indices,      ///< i32, uniform in [0, limit)
    mask,         ///< i32, 1 or, for one in eight and for the first `limit` elements, 0
    cosines,      ///< cos(t theta_i), [t, i], theta_i = 10000^(-i / columns): a table for rope
    sines,        ///< sin of the same
    corrections,  ///< {1 - decays[0]^t, 1 - decays[1]^t}, t = limit: AdamW's bias corrections
  };
  Kind kind = Kind::values;
  double scale = 1;  ///< a power of two where values must stay exact
  std::int64_t limit = 0;
  FillRole role = FillRole::addend;  ///< values: a factor of a sum, over `axis`
  int axis = -1;
  std::array<double, 2> decays = {0.9, 0.95};  ///< corrections: AdamW's beta1 and beta2
};

/// A named tensor of a Program. Inputs are written before a run, outputs and intermediates are poisoned
/// before it and can be read after it; state is written once and carried from run to run.
struct TensorSpec {
  enum class Role : std::uint8_t { input, output, intermediate, state };
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  ///< elements; gaps between rows allowed
  Role role = Role::input;
  /// A view: this tensor is part of another one's memory, `view_offset` elements after that one's first. The
  /// other is not a view itself; the view's bytes begin on a multiple of view_alignment, so that any device
  /// can bind it. A view has its root's dtype and role.
  TensorId view_of = no_tensor;
  std::int64_t view_offset = 0;
  Content content = {};  ///< of an input or a state
  bool is_view() const { return view_of != no_tensor; }
};

/// Bytes; the largest alignment that devices ask of a storage buffer's offset.
inline constexpr std::int64_t view_alignment = 256;

/// One op applied to tensors. Ports are in the op's declared order.
struct OpCall {
  std::string op;
  Attributes attributes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
};

/// After a run, `from` becomes the next run's `to` (weights, optimizer state): Session::advance copies it.
struct Carry {
  TensorId from = no_tensor, to = no_tensor;
};

/// What a stage runs: op calls, in order, over named tensors.
struct Program {
  std::vector<TensorSpec> tensors;
  std::vector<OpCall> calls;
  std::vector<Carry> carries;
  DType accumulate = DType::f32;  ///< the accumulate format the case asks for

  std::optional<TensorId> find(std::string_view name) const {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].name == name) return static_cast<TensorId>(i);
    return std::nullopt;
  }
  const TensorSpec& spec(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
};

}  // namespace parity
