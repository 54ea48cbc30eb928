#include "harness/numerics/summation_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/base/fnv1a.hpp"

namespace parity {

// A chain of thousands of additions is a tree as deep: nothing here recurses.

std::vector<std::int64_t> SummationTree::terms_under(std::int32_t index) const {
  std::vector<std::int64_t> terms;
  for (std::int32_t i = index - node(index).subtree + 1; i <= index; ++i)
    if (node(i).leaf()) terms.push_back(node(i).term);
  std::ranges::sort(terms);
  return terms;
}

std::int64_t SummationTree::depth() const {
  std::vector<std::int64_t> depth(nodes_.size(), 0);
  for (std::int32_t i = 0; i < size(); ++i)
    for (const std::int32_t child : children(i))
      depth[static_cast<std::size_t>(i)] =
          std::max(depth[static_cast<std::size_t>(i)], depth[static_cast<std::size_t>(child)] + 1);
  return depth.empty() ? 0 : depth.back();
}

std::int32_t SummationTree::largest_fan_in() const {
  std::int32_t largest = 0;
  for (const Node& n : nodes_) largest = std::max(largest, n.children);
  return largest;
}

std::string SummationTree::text() const {
  if (nodes_.empty()) return "()";
  // Post-order printed from the back is pre-order with children from last to first: pieces are collected in
  // reverse and turned round.
  struct Visit {
    std::int32_t node;
    bool closing;  // of the reversed text: the node's "("
  };
  std::vector<std::string> pieces;
  std::vector<Visit> todo{{root(), false}};
  while (!todo.empty()) {
    const Visit visit = todo.back();
    todo.pop_back();
    if (visit.closing) {
      pieces.push_back("(");
    } else if (node(visit.node).leaf()) {
      pieces.push_back(fmt::format("{}", node(visit.node).term));
    } else {
      pieces.push_back(")");
      todo.push_back({visit.node, true});
      for (const std::int32_t child : children(visit.node)) todo.push_back({child, false});
    }
  }
  std::string text;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (!text.empty() && text.back() != '(' && *piece != ")") text += ' ';
    text += *piece;
  }
  return text;
}

std::uint64_t SummationTree::hash() const {
  Fnv1a hash;
  hash.add(text());
  return hash.value();
}

std::string SummationTree::hash_text() const {
  return fmt::format("{:016x}", hash());
}

std::int32_t SummationTreeBuilder::term(std::int64_t index) {
  drafts_.push_back({index, index, {}});
  return static_cast<std::int32_t>(drafts_.size() - 1);
}

std::int32_t SummationTreeBuilder::add(std::span<const std::int32_t> parts) {
  Draft draft;
  for (const std::int32_t part : parts)
    if (part != nothing) draft.children.push_back(part);
  if (draft.children.empty()) return nothing;
  if (draft.children.size() == 1) return draft.children.front();
  const auto smallest = [&](std::int32_t i) { return drafts_[static_cast<std::size_t>(i)].smallest; };
  std::ranges::sort(draft.children, {}, smallest);
  draft.smallest = smallest(draft.children.front());
  drafts_.push_back(std::move(draft));
  return static_cast<std::int32_t>(drafts_.size() - 1);
}

std::int32_t SummationTreeBuilder::add(std::int32_t a, std::int32_t b) {
  const std::int32_t both[] = {a, b};
  return add(both);
}

Result<SummationTree> SummationTreeBuilder::finish(std::int32_t root) const {
  SummationTree tree;
  if (root == nothing) return tree;
  struct Visit {
    std::int32_t draft;
    bool done;  // its children are in the tree: their positions are on top of `ready`
  };
  std::vector<Visit> todo{{root, false}};
  std::vector<std::int32_t> ready;
  std::vector<bool> seen;
  while (!todo.empty()) {
    const Visit visit = todo.back();
    todo.pop_back();
    const Draft& draft = drafts_[static_cast<std::size_t>(visit.draft)];
    SummationTree::Node node;
    node.smallest = draft.smallest;
    node.first_child = static_cast<std::int32_t>(tree.children_.size());
    if (draft.term >= 0) {
      node.term = draft.term;
      const auto at = static_cast<std::size_t>(draft.term);
      if (at >= seen.size()) seen.resize(at + 1, false);
      if (seen[at]) return bad_input(fmt::format("a summation tree has the term {} twice", draft.term));
      seen[at] = true;
    } else if (!visit.done) {
      todo.push_back({visit.draft, true});
      for (auto child = draft.children.rbegin(); child != draft.children.rend(); ++child)
        todo.push_back({*child, false});
      continue;
    } else {
      node.children = static_cast<std::int32_t>(draft.children.size());
      node.terms = 0;
      const std::size_t from = ready.size() - draft.children.size();
      for (std::size_t i = from; i < ready.size(); ++i) {
        tree.children_.push_back(ready[i]);
        node.terms += tree.node(ready[i]).terms;
        node.subtree += tree.node(ready[i]).subtree;
      }
      ready.resize(from);
    }
    tree.nodes_.push_back(node);
    ready.push_back(tree.root());
  }
  if (const auto missing = std::ranges::find(seen, false); missing != seen.end())
    return bad_input(fmt::format("a summation tree of {} terms has no term {}; its terms must be 0 to K-1",
                                 tree.terms(), missing - seen.begin()));
  return tree;
}

Result<SummationTree> parse_summation_tree(std::string_view text) {
  SummationTreeBuilder builder;
  std::vector<std::vector<std::int32_t>> open{{}};  // the sums that are not closed yet, outermost first
  const auto refuse = [&](std::size_t at, std::string_view why) {
    return bad_input(
        fmt::format("summation tree, character {}: {}; a tree looks like ((0 1) 2)", at + 1, why));
  };
  constexpr std::int64_t most_terms = std::int64_t{1} << 24;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '(') {
      open.emplace_back();
      ++at;
    } else if (c == ')') {
      if (open.size() < 2) return refuse(at, "a ) without its (");
      const std::int32_t sum = builder.add(open.back());
      open.pop_back();
      if (sum != SummationTreeBuilder::nothing) open.back().push_back(sum);
      ++at;
    } else if (c >= '0' && c <= '9') {
      std::int64_t index = 0;
      const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), index);
      if (error != std::errc{} || index >= most_terms) return refuse(at, "a term beyond the limit of 2^24");
      open.back().push_back(builder.term(index));
      at = static_cast<std::size_t>(end - text.data());
    } else if (c == ' ') {
      ++at;
    } else {
      return refuse(at, fmt::format("'{}' has no meaning here", c));
    }
  }
  if (open.size() != 1) return refuse(text.size(), "a ( is not closed");
  if (open.front().size() > 1) return refuse(text.size(), "more than one tree");
  return builder.finish(open.front().empty() ? SummationTreeBuilder::nothing : open.front().front());
}

}  // namespace parity
