#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace parity {

/// The order in which a reduction adds its K terms, as a tree: leaves are the terms' indices, an inner node
/// is one addition. A node of more than two children is one fused addition of all of them (a tensor core's
/// multi-term adder). Addition commutes, so that children have no order: every tree is kept in its canonical
/// form, children sorted by the smallest term under them, nodes in post-order (children in front of their
/// parent, the root last).
class SummationTree {
 public:
  struct Node {
    std::int64_t term = -1;        ///< of a leaf; -1: an addition
    std::int64_t terms = 1;        ///< leaves under it
    std::int64_t smallest = 0;     ///< the smallest term under it
    std::int32_t first_child = 0;  ///< position in the list of children
    std::int32_t children = 0;     ///< how many
    std::int32_t subtree = 1;      ///< nodes of its subtree: they are [this - subtree + 1, this]
    bool operator==(const Node&) const = default;
    bool leaf() const { return term >= 0; }
  };

  SummationTree() = default;
  std::int64_t terms() const { return nodes_.empty() ? 0 : nodes_.back().terms; }
  std::int32_t size() const { return static_cast<std::int32_t>(nodes_.size()); }
  std::int32_t root() const { return size() - 1; }
  const Node& node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }
  std::span<const std::int32_t> children(std::int32_t index) const {
    const Node& n = node(index);
    return {children_.data() + n.first_child, static_cast<std::size_t>(n.children)};
  }
  /// The terms under a node, ascending.
  std::vector<std::int64_t> terms_under(std::int32_t index) const;
  /// Longest chain of additions from a term to the root.
  std::int64_t depth() const;
  std::int32_t largest_fan_in() const;

  /// "((0 1) 2)"; a single term is "0", no term "()".
  std::string text() const;
  /// FNV-1a (64 bits) of text(): the same on every machine.
  std::uint64_t hash() const;
  std::string hash_text() const;  ///< 16 hexadecimal digits

  bool operator==(const SummationTree&) const = default;

 private:
  friend class SummationTreeBuilder;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> children_;
};

/// Builds a tree bottom-up. Ids are the builder's own.
class SummationTreeBuilder {
 public:
  static constexpr std::int32_t nothing = -1;  ///< an empty sum: disappears where it is added

  std::int32_t term(std::int64_t index);
  /// One addition of all `parts`; parts that are `nothing` drop out, and a sum of one part is that part.
  std::int32_t add(std::span<const std::int32_t> parts);
  std::int32_t add(std::int32_t a, std::int32_t b);
  /// The canonical tree under `root`. Error unless the terms are 0 .. K-1, each once.
  Result<SummationTree> finish(std::int32_t root) const;

 private:
  struct Draft {
    std::int64_t term = -1;
    std::int64_t smallest = 0;
    std::vector<std::int32_t> children;
  };
  std::vector<Draft> drafts_;
};

/// Reads SummationTree::text(); children may stand in any order.
Result<SummationTree> parse_summation_tree(std::string_view text);

}  // namespace parity
