#pragma once
#include "harness/numerics/arithmetic.hpp"

namespace parity {

/// Whether the emulated arithmetic can compute this model's bits; the error says what is not modelled.
Result<void> check_emulation(const ArithmeticModel& model);

/// op(a) op(b) in the model's formats and order, to the bit. The model must have passed check_emulation.
Value emulate_matmul(const ArithmeticModel& model, const Value& a, bool transpose_a, const Value& b,
                     bool transpose_b);

}  // namespace parity
