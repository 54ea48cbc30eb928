#pragma once
#include <cstdint>
#include <span>

#include "harness/numerics/freivalds.hpp"

namespace parity {

/// Vectors of the check: the first has entries +1 and -1, the others any of the 2^32 words.
inline constexpr int modular_vectors = 16;

/// Freivalds' check of every row of integers modulo 2^32 (int8 x int8 -> int32 that wraps around): D x =
/// alpha A (B x) + beta C x, all modulo 2^32, where nothing is rounded and nothing overflows. O((m + k) n + m
/// k) operations a vector. One wrong element in a row is always seen, by the signs: +-e is not 0 modulo 2^32.
/// Several errors e_j of a row are missed by a vector of random words when sum e_j x_j = 0: with probability
/// 2^-(32-v), 2^v the largest power of two that divides all of them, so at most 1/2 (where each error is
/// 2^31), and by all with at most 2^-15; when any of them is odd, with 2^-480.
FreivaldsReport freivalds_modular(const ProductForm& form, const StoredMatrix& result, std::uint64_t seed);

/// Whether the check sees a row of D change by these integers, one a column.
bool modular_check_sees(std::span<const double> changes, std::uint64_t seed);

}  // namespace parity
