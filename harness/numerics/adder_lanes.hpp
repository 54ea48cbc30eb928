#pragma once
#include <cstdint>

namespace parity {

/// A multi-term adder over numbers that the fast lanes hold: factors of at most 12 significand bits whose
/// products, and every sum of them, are normal fp32 numbers (see adder_lanes_fit).
struct AdderSteps {
  std::int32_t terms = 16, fraction_bits = 25;
  std::int32_t floor_exponent = 0;  ///< at most every exponent that a sum other than zero can have
};

/// One operand of the lanes, position by position: the number and its exponent, not normalised. An exponent
/// of `no_exponent` marks a zero.
inline constexpr std::int16_t no_exponent = -8192;
struct AdderRow {
  const float* value;
  const std::int16_t* exponent;
};

/// The steps of a multi-term adder in 32-bit integer lanes, a panel of output columns at a time. One text for
/// every instruction set (adder_lanes.inc): the same bits on every machine.
struct AdderLanes {
  std::int32_t columns;  ///< of a panel; operands on the right are panels of so many columns, k by k
  /// sums[r][c] goes on by n terms, in steps of `terms`, the last one perhaps short. The rows on the left lie
  /// `stride` positions apart. sums is rows x columns.
  void (*chain)(const AdderSteps& steps, AdderRow left, std::int64_t stride, AdderRow right, std::int64_t n,
                std::int64_t rows, float* sums);
  /// One addition of the products of the positions in `list` and of `sums` numbers, which lie one panel's
  /// width apart; the result takes the place of the first one.
  void (*node)(const AdderSteps& steps, AdderRow left, AdderRow right, const std::int64_t* list,
               std::int64_t n, float* sums, std::int64_t count);
};

/// Every machine's, and the widest this machine has.
const AdderLanes& plain_adder_lanes();
const AdderLanes& adder_lanes();

/// Whether the lanes hold every product and sum: `smallest` and `largest` are the extreme exponents of
/// products other than zero, `depth` bounds how many of them a sum has.
bool adder_lanes_fit(const AdderSteps& steps, int multiply_precision, int smallest, int largest,
                     std::int64_t depth);

}  // namespace parity
