#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/numerics/summation_tree.hpp"

namespace parity {

/// The shape of every node's subtree: two nodes have one number when their subtrees are equal but for the
/// terms' indices.
std::vector<std::int32_t> subtree_shapes(const SummationTree& tree);

/// A node taken apart: what it is, one level of repetition folded.
struct TreePart {
  enum class Kind : std::uint8_t {
    term,      ///< a leaf
    terms,     ///< one addition of leaves only
    balanced,  ///< a balanced tree over `parts` of one shape
    chain,     ///< `base`, which the elements of `runs` join one after another
  };
  struct Run {
    std::vector<std::int32_t> steps;                  ///< the node of each addition, in order of time
    std::vector<std::vector<std::int32_t>> elements;  ///< what joins in each of them; all runs of one shape
  };
  Kind kind = Kind::term;
  std::int32_t fan_in = 0;          ///< balanced, terms: of every node
  std::vector<std::int32_t> parts;  ///< balanced: by smallest term
  std::int32_t base = -1;           ///< chain
  std::vector<Run> runs;            ///< chain: neighbours have different shapes
};
TreePart take_apart(const SummationTree& tree, const std::vector<std::int32_t>& shapes, std::int32_t node);

/// "0..31", "0, 8, .. 56", "3, 5, 6": ascending terms in short; long irregular lists are cut.
std::string terms_text(const std::vector<std::int64_t>& terms);

/// The order's name: that of a known order ("sequential", "reversed", "pairwise", "blocked 32", "split-K 4",
/// "strided 64", "sequential, fused 16+1", ...) or a description of what repeats in the tree.
std::string describe(const SummationTree& tree);

}  // namespace parity
