#pragma once
#include "harness/ladder/record.hpp"
#include "harness/ladder/replay.hpp"

namespace parity {

/// Plants faults into a result that passed and asks whether the contract sees them: all zeros, twice and 1.01
/// times the result, a row of zeros, and, where the op declares a reduction whose terms can be taken out, the
/// result without the last terms. A mutant is seen when one of its elements lies beyond the hard bound or has
/// other bits where bits are required or replayed; where no single element shows it, a block of it is judged.
Power measure_power(const CallResult& call, const Value& want, const Contract& contract,
                    const ReplayResult& replay);

/// A pass that some mutant would pass too becomes `untrusted`: the result of a program of one op.
void distrust_powerless(const Power& power, Judgement& judgement);

/// Why a composite program proves nothing: no mutant of any of its results is seen, and some would pass.
/// Empty: it proves something; results that prove nothing (a softmax gradient that saturates) are named in
/// their Power.
std::string why_powerless(const std::vector<OutputRecord>& outputs);

}  // namespace parity
