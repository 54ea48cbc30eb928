#pragma once
#include <cstdint>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/numerics/arithmetic_model.hpp"

namespace parity {

/// A SummationOrder laid out for one reduction of K terms: a permutation of k cut into contiguous parts.
/// Every part is a chain of additions that starts from +0; the parts' sums are then combined.
struct SummationPlan {
  enum class Combine : std::uint8_t {
    sequence,       ///< total = 0; total += part 0; total += part 1; ... (one part: the part itself)
    adjacent_tree,  ///< balanced binary tree over neighbours; the left half gets the larger power of two
    halving_tree,   ///< n parts: half = ceil(n/2); part i += part i + half; n = half; until one is left
  };
  std::vector<std::int64_t> permutation;  ///< position -> k; empty: the identity
  std::vector<std::int64_t> begin;        ///< first position of each part, then K
  Combine combine = Combine::sequence;

  std::int64_t parts() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t terms() const { return begin.back(); }
  std::int64_t longest_part() const;
  /// Largest number of additions a part's sum takes part in when the parts are combined.
  std::int64_t combine_depth() const;
};

/// Lays out `order` for K = `terms`. Error when a width is missing (blocked, split_k, strided need one >= 1),
/// and for Kind::tree.
/// permuted: Fisher-Yates driven by philox(seed, i, 0), the same on every machine.
Result<SummationPlan> plan_summation(const SummationOrder& order, std::int64_t terms);

/// Whether `accumulation` has a meaning: widths, adder sizes, and for multi_term an order that is sequential,
/// blocked, split_k or a tree (steps of several products have no meaning in the other orders).
Result<void> check_accumulation(const Accumulation& accumulation);

}  // namespace parity
