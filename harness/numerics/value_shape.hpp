#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "harness/numerics/arithmetic.hpp"

namespace parity {

// Moving values about: nothing is rounded, every array of a Value moves along. Indices and sizes are the
// caller's duty, as everywhere below the references.

/// A 1 x 1 value without error, to be broadcast.
Value constant(double x);
/// All `x`, without error.
Value filled(std::int64_t batch, std::int64_t rows, std::int64_t cols, double x);
/// The same elements, in order, with other sizes (batch * rows * cols unchanged).
Value reshape(Value x, std::int64_t batch, std::int64_t rows, std::int64_t cols);
/// Rows (of a batch of 1) by index, repeats allowed.
Value take_rows(const Value& x, std::span<const std::int64_t> rows);
/// Columns first .. first + count - 1.
Value take_cols(const Value& x, std::int64_t first, std::int64_t count);
/// Parts beside each other (same batch and rows) or below each other (batch 1, same columns).
Value concat_cols(const std::vector<Value>& parts);
Value concat_rows(const std::vector<Value>& parts);
/// Rows and columns exchanged, per batch.
Value transpose(const Value& x);
/// Element i of `yes` where choose[i], else of `no`; same sizes.
Value select(const std::vector<bool>& choose, const Value& yes, const Value& no);

}  // namespace parity
