#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "harness/ladder/op.hpp"

namespace parity {

/// A program evaluated by its references, from its inputs to its results, nothing taken from a device.
struct ProgramEvaluation {
  std::map<TensorId, Value> values;  ///< of every tensor, after its conversion to the store type
  std::vector<double> call_seconds;  ///< of each call on the host
};

/// Makes the arithmetic of one call (by its index): exact for the truth, tracked with the model of the call's
/// implementation for the bound of what a device may compute end to end, emulated for its bits.
using MakeArithmetic = std::function<Result<std::unique_ptr<Arithmetic>>(std::size_t call)>;

/// Values that stand in for what a call makes, by tensor.
using ReplacedValues = std::map<TensorId, Value>;

/// Evaluates every call in order. `inputs`: every input and state of the program; `carried`: values that
/// stand in for state tensors (what an evaluation before left at the other end of Program::carries), may be
/// empty.
Result<ProgramEvaluation> evaluate_program(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const std::map<TensorId, Value>& carried,
                                           const MakeArithmetic& make, const ReplacedValues& replaced = {});

/// evaluate_program in exact arithmetic.
Result<ProgramEvaluation> evaluate_exactly(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const std::map<TensorId, Value>& carried = {},
                                           const ReplacedValues& replaced = {});

/// What `evaluation` hands to the next run: state tensor -> value.
std::map<TensorId, Value> carried_values(const Program& program, const ProgramEvaluation& evaluation);

}  // namespace parity
