#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/ladder/op.hpp"

namespace parity {

/// Element `element` of an op's output by a formula of its own, in long double: written from
/// docs/operations.md, apart from the references and their arithmetics, for ops that have neither a gradient
/// rule nor enough symmetries to contradict themselves. nullopt: there is none for this op.
std::optional<long double> closed_form(std::string_view op, const Attributes& attributes,
                                       const PortTensors& inputs, std::size_t output, std::int64_t element);

}  // namespace parity
