#pragma once
#include <string>
#include <vector>

#include "harness/ladder/program.hpp"
#include "harness/ladder/record.hpp"
#include "harness/ladder/replay.hpp"
#include "harness/ladder/symmetry.hpp"

namespace parity {

/// A mutant that would pass: what the call's result would be.
struct MissedMutant {
  TensorId tensor = no_tensor;
  std::string name;
  Value values;
};

/// A declared sum without its last `count` of `units` terms.
struct LostTail {
  std::string name;
  PortAxis axis;  ///< zeros in its last units take the terms out
  std::int64_t count = 0, units = 0;
};
std::vector<LostTail> lost_tails(const CallResult& call);

/// Plants faults into a result that passed and asks whether the contract sees them: all zeros, twice and 1.01
/// times the result, a row of zeros, and, where the op declares a reduction whose terms can be taken out, the
/// result without the last terms. A mutant is seen when one of its elements lies beyond the hard bound or has
/// other bits where bits are required or replayed; where no single element shows it, a block of it is judged.
/// Mutants that change nothing, or only elements whose
/// exact value is nothing beside fp32's own roundings of their terms, are void. `missed` receives those that
/// would pass.
Power measure_power(const CallResult& call, const Value& want, const Contract& contract,
                    const ReplayResult& replay, std::vector<MissedMutant>* missed = nullptr);

/// A pass that some mutant would pass too becomes `untrusted`: the result of a program of one op.
void distrust_powerless(const Power& power, Judgement& judgement);

}  // namespace parity
