#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/ladder/attributes.hpp"
#include "harness/numerics/arithmetic_model.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// Index into Program::tensors.
using TensorId = std::int32_t;
inline constexpr TensorId no_tensor = -1;  ///< an optional port left empty

/// A named tensor of a Program. Inputs are written before a run, outputs and intermediates are poisoned
/// before it and can be read after it; state is written once and carried from run to run.
struct TensorSpec {
  enum class Role : std::uint8_t { input, output, intermediate, state };
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  ///< elements; gaps between rows allowed
  Role role = Role::input;
};

/// One op applied to tensors. Ports are in the op's declared order.
struct OpCall {
  std::string op;
  Attributes attributes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
};

/// What a stage runs: op calls, in order, over named tensors.
struct Program {
  std::vector<TensorSpec> tensors;
  std::vector<OpCall> calls;
  DType accumulate = DType::f32;  ///< the accumulate format the case asks for

  std::optional<TensorId> find(std::string_view name) const {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].name == name) return static_cast<TensorId>(i);
    return std::nullopt;
  }
  const TensorSpec& spec(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
};

}  // namespace parity
