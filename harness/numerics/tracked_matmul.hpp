#pragma once
#include "harness/numerics/arithmetic.hpp"

namespace parity {

/// op(a) op(b) with its error bounds under `model` (docs/numerics.md, sections 2 to 4), for inputs without
/// errors of their own. All four error arrays are filled.
Value tracked_matmul(const ArithmeticModel& model, const Value& a, bool transpose_a, const Value& b,
                     bool transpose_b);

}  // namespace parity
