#pragma once
#include "harness/numerics/arithmetic.hpp"

namespace parity {

/// Names the rows of op(a) and the columns of op(b) by their bits in c.row_kin and c.col_kin, where c = op(a)
/// op(b) per batch (a batch of 1 is repeated). Leaves both empty where no row and no column repeats.
void name_kin(const Value& a, bool transpose_a, const Value& b, bool transpose_b, Value& c);

/// The name of the sum that an element of x was made of; equal names: the same products. x has kin.
std::uint64_t kin_of(const Value& x, std::int64_t index);

}  // namespace parity
