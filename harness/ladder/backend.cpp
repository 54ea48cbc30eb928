#include "harness/ladder/backend.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace parity {

Support matches_precision(const Implementation& implementation, const OpCall& call, const Program& program) {
  using Kind = Support::Kind;
  if (implementation.op != call.op)
    return {Kind::not_applicable, fmt::format("implements {}, not {}", implementation.op, call.op)};
  const DType store = program.spec(call.outputs.at(0)).dtype;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] == no_tensor) continue;
    const TensorSpec& spec = program.spec(call.inputs[i]);
    if (spec.dtype == DType::i32) continue;  // indices
    const DType wanted = i < implementation.factors ? implementation.input : store;
    if (spec.dtype != wanted)
      return {Kind::not_applicable,
              fmt::format("takes '{}' as {}; it is {}", spec.name, name_of(wanted), name_of(spec.dtype))};
  }
  if (program.accumulate != implementation.accumulate)
    return {Kind::not_applicable,
            fmt::format("accumulates in {}; the case asks for {}", name_of(implementation.accumulate),
                        name_of(program.accumulate))};
  for (const TensorId id : call.outputs) {
    const TensorSpec& spec = program.spec(id);
    if (std::ranges::find(implementation.stores, spec.dtype) == implementation.stores.end())
      return {Kind::not_applicable, fmt::format("cannot store '{}' as {}", spec.name, name_of(spec.dtype))};
  }
  return {};
}

}  // namespace parity
