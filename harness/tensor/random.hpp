#pragma once
#include <cstdint>

namespace parity {

/// Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011): four random words for a counter under a key. The same
/// bits everywhere; any counter can be asked for in any order.
struct PhiloxBlock {
  std::uint32_t word[4];
};
PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high);

/// Uniform in (0, 1): the middle of one of 2^52 equal cells, so never 0 or 1 and exact in fp64.
double uniform_open(std::uint32_t high, std::uint32_t low);

/// Uniform in {0, ..., n-1}, n >= 1, from 64 random bits (Lemire's multiply-shift; bias below n * 2^-64).
std::uint64_t below(std::uint64_t n, std::uint32_t high, std::uint32_t low);

/// Inverse of the standard normal distribution function for 0 < p < 1, relative error about 1e-15: the
/// rational approximations of Wichura's algorithm AS 241 (1988). Only + - * / and sqrt on fp64, a logarithm
/// of its own included, so that no libm decides the bits.
double normal_quantile(double p);

/// A pseudo-random permutation of {0, ..., n-1} chosen by (key, tweak): where `i` goes. A four-round Feistel
/// network over the next even power of two, walked until the result is below n.
std::uint64_t permute(std::uint64_t i, std::uint64_t n, std::uint64_t key, std::uint64_t tweak);

}  // namespace parity
