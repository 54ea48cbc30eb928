#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/power.hpp"
#include "harness/ladder/program_reference.hpp"

namespace parity {

/// What a composite program does not prove.
struct ProgramPower {
  std::string untrusted;           ///< why a pass is none; empty: it is one
  std::vector<std::string> notes;  ///< one for each tensor whose own contract would pass a wrong result
};

/// Every call is judged with the device's own inputs, so that a wrong tensor is seen by its own contract or,
/// through all that is computed from it, by the end-to-end bounds of the program's results, and by nothing
/// else. Mutants that a tensor's own contract would pass (`missed`) are therefore put in its place, the rest
/// of the program is evaluated exactly, and a result more than twice its end-to-end bound from the exact one
/// (the device's own roundings may take off as much as the bound) shows them.
/// - A tensor whose mutants a result shows is covered.
/// - A result of the program (an output, a state carried on) whose call proves nothing: not one mutant of any
///   tensor that the call makes is seen by its own contract, and no result shows one of this tensor:
///   untrusted. Where the call proves something (zeros are seen, but not 1%; d_v is seen, but not d_q, the
///   gradient of a saturated softmax) it is noted.
/// - An intermediate that nothing shows makes no result wrong by more than the bounds: only a note.
/// - No tensor sees a mutant and some would pass: untrusted, whatever they are.
/// `tracked`: with end-to-end bounds; null: there are none, and no result shows anything.
Result<ProgramPower> measure_program_power(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const std::vector<OutputRecord>& outputs,
                                           const std::vector<MissedMutant>& missed,
                                           const ProgramEvaluation& exact, const ProgramEvaluation* tracked);

}  // namespace parity
