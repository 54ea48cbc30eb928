#include "harness/numerics/tree_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/numerics/tree_order.hpp"

namespace parity {
namespace {

using Kind = TreePart::Kind;

class Describer {
 public:
  explicit Describer(const SummationTree& tree) : tree_(tree), shapes_(subtree_shapes(tree)) {}

  std::string of(std::int32_t node, int depth = 0) const {
    const std::int64_t terms = tree_.node(node).terms;
    if (depth > 4) return fmt::format("a tree of {} terms", terms);
    const TreePart part = take_apart(tree_, shapes_, node);
    switch (part.kind) {
      case Kind::term:
        return "one term";
      case Kind::terms:
        return part.fan_in == 2 ? "two terms" : fmt::format("{} terms fused", part.fan_in);
      case Kind::balanced:
        return balanced(part, depth);
      case Kind::chain:
        return chain(part, node, depth);
    }
    return "";
  }

 private:
  std::string layout(std::int32_t first) const {
    const std::vector<std::int64_t> terms = tree_.terms_under(first);
    if (terms.size() < 2) return "";
    return terms.back() - terms.front() + 1 == static_cast<std::int64_t>(terms.size()) ? "contiguous "
                                                                                       : "interleaved ";
  }

  std::string balanced(const TreePart& part, int depth) const {
    const std::string over = part.fan_in == 2 ? "pairwise" : fmt::format("a tree of fan-in {}", part.fan_in);
    const std::int32_t first = part.parts.front();
    if (tree_.node(first).leaf()) return fmt::format("{} over {} terms", over, part.parts.size());
    return fmt::format("{} over {} {}parts of {} terms, each: {}", over, part.parts.size(), layout(first),
                       tree_.node(first).terms, of(first, depth + 1));
  }

  /// What the steps of a run have in common.
  std::string run_text(const TreePart::Run& run, int depth) const {
    const std::vector<std::int32_t>& first = run.elements.front();
    const std::size_t steps = run.steps.size();
    std::int64_t leaves = 0;
    for (const std::int32_t element : first) leaves += tree_.node(element).leaf();
    if (leaves == static_cast<std::int64_t>(first.size())) {
      if (leaves == 1) return fmt::format("{} more term{}", steps, steps == 1 ? "" : "s");
      return fmt::format("{} step{} of {} terms fused with the sum", steps, steps == 1 ? "" : "s", leaves);
    }
    if (first.size() > 1) return fmt::format("{} fused steps of {} sums", steps, first.size());
    const std::string each = steps == 1 ? "" : "each: ";
    return fmt::format("{} {}part{} of {} terms, {}{}", steps, layout(first.front()), steps == 1 ? "" : "s",
                       tree_.node(first.front()).terms, each, of(first.front(), depth + 1));
  }

  std::string chain(const TreePart& part, std::int32_t node, int depth) const {
    const std::int64_t terms = tree_.node(node).terms;
    const TreePart::Run& run = part.runs.front();
    const auto shape = [&](std::int32_t n) { return shapes_[static_cast<std::size_t>(n)]; };
    std::vector<std::string> texts;
    std::size_t next = 0;
    const bool of_terms = run.elements.front().size() == 1 && tree_.node(run.elements.front()[0]).leaf() &&
                          tree_.node(part.base).terms <= 2;
    if (of_terms) {
      texts.push_back(fmt::format("{} over {} terms", direction(part), tree_.node(run.steps.back()).terms));
      next = 1;
    } else if (run.elements.front().size() == 1 && shape(run.elements.front()[0]) == shape(part.base)) {
      texts.push_back(fmt::format("{} {}parts of {} terms in sequence, each: {}", run.steps.size() + 1,
                                  layout(part.base), tree_.node(part.base).terms, of(part.base, depth + 1)));
      next = 1;
    } else {
      texts.push_back(of(part.base, depth + 1));
    }
    for (; next < part.runs.size() && texts.size() < 5; ++next)
      texts.push_back(run_text(part.runs[next], depth));
    if (next < part.runs.size())
      return fmt::format("irregular ({} terms, depth {}, largest fan-in {})", terms, tree_.depth(),
                         tree_.largest_fan_in());
    return fmt::format("{}", fmt::join(texts, "; then "));
  }

  std::string direction(const TreePart& part) const {
    bool ascending = true, descending = true;
    const std::vector<std::int64_t> base = tree_.terms_under(part.base);
    std::int64_t low = base.front(), high = base.back();
    for (const auto& element : part.runs.front().elements) {
      const std::int64_t term = tree_.node(element.front()).term;
      ascending = ascending && term > high;
      descending = descending && term < low;
      low = std::min(low, term), high = std::max(high, term);
    }
    return ascending ? "sequential" : descending ? "reversed" : "sequential in another order of terms";
  }

  const SummationTree& tree_;
  std::vector<std::int32_t> shapes_;
};

std::string known_name(const Accumulation& accumulation) {
  std::string name = to_string(accumulation);
  // What no tree shows is left out: fma or not, fraction bits.
  name = name.substr(0, name.rfind(' '));
  return name;
}

}  // namespace

std::vector<std::int32_t> subtree_shapes(const SummationTree& tree) {
  std::map<std::vector<std::int32_t>, std::int32_t> known;
  std::vector<std::int32_t> shapes;
  for (std::int32_t i = 0; i < tree.size(); ++i) {
    std::vector<std::int32_t> key;
    for (const std::int32_t child : tree.children(i)) key.push_back(shapes[static_cast<std::size_t>(child)]);
    std::ranges::sort(key);
    shapes.push_back(known.emplace(std::move(key), static_cast<std::int32_t>(known.size())).first->second);
  }
  return shapes;
}

TreePart take_apart(const SummationTree& tree, const std::vector<std::int32_t>& shapes, std::int32_t node) {
  const auto shape = [&](std::int32_t n) { return shapes[static_cast<std::size_t>(n)]; };
  const auto alike = [&](std::int32_t n) {
    return std::ranges::all_of(tree.children(n),
                               [&](std::int32_t c) { return shape(c) == shape(tree.children(n)[0]); });
  };
  const auto of_leaves = [&](std::int32_t n) {
    return std::ranges::all_of(tree.children(n), [&](std::int32_t c) { return tree.node(c).leaf(); });
  };
  TreePart part;
  if (tree.node(node).leaf()) return part;
  part.fan_in = tree.node(node).children;
  if (of_leaves(node)) {
    part.kind = Kind::terms;
    return part;
  }
  if (alike(node)) {
    part.kind = Kind::balanced;
    part.parts = {tree.children(node).begin(), tree.children(node).end()};
    // Levels of one fan-in belong together.
    while (!tree.node(part.parts[0]).leaf() && alike(part.parts[0]) &&
           tree.node(part.parts[0]).children == part.fan_in) {
      std::vector<std::int32_t> below;
      for (const std::int32_t p : part.parts)
        below.insert(below.end(), tree.children(p).begin(), tree.children(p).end());
      part.parts = std::move(below);
    }
    std::ranges::sort(part.parts, {}, [&](std::int32_t p) { return tree.node(p).smallest; });
    return part;
  }
  // Down along the largest child; the others are what joins.
  part.kind = Kind::chain;
  std::int32_t at = node;
  std::vector<std::int32_t> last_key;
  while (!tree.node(at).leaf() && !of_leaves(at) && !alike(at)) {
    std::int32_t spine = tree.children(at)[0];
    for (const std::int32_t child : tree.children(at))
      if (tree.node(child).terms > tree.node(spine).terms) spine = child;
    std::vector<std::int32_t> others, key;
    for (const std::int32_t child : tree.children(at)) {
      if (child == spine) continue;
      others.push_back(child);
      key.push_back(shape(child));
    }
    std::ranges::sort(key);
    if (part.runs.empty() || key != last_key) part.runs.emplace_back();
    part.runs.back().steps.push_back(at);
    part.runs.back().elements.push_back(std::move(others));
    last_key = std::move(key);
    at = spine;
    // A base that looks like what joins it is one of the chain's parts.
    if (last_key.size() == 1 && last_key[0] == shape(at)) break;
  }
  // The first two parts of a chain are alike, a balanced pair: taken apart, they belong to what follows.
  if (!tree.node(at).leaf() && alike(at) && tree.node(at).children == 2 && last_key.size() == 1 &&
      last_key[0] == shape(tree.children(at)[0]) && !tree.node(tree.children(at)[0]).leaf()) {
    part.runs.back().steps.push_back(at);
    part.runs.back().elements.push_back({tree.children(at)[1]});
    at = tree.children(at)[0];
  }
  part.base = at;
  std::ranges::reverse(part.runs);
  for (TreePart::Run& run : part.runs) {
    std::ranges::reverse(run.steps);
    std::ranges::reverse(run.elements);
  }
  return part;
}

std::string terms_text(const std::vector<std::int64_t>& terms) {
  if (terms.empty()) return "none";
  if (terms.size() == 1) return fmt::format("{}", terms[0]);
  const std::int64_t step = terms[1] - terms[0];
  bool regular = terms.size() > 2;
  for (std::size_t i = 2; i < terms.size() && regular; ++i) regular = terms[i] - terms[i - 1] == step;
  if (terms.size() == 2 && step == 1) regular = true;
  if (regular && step == 1) return fmt::format("{}..{}", terms.front(), terms.back());
  if (regular && terms.size() > 3) return fmt::format("{}, {}, .. {}", terms[0], terms[1], terms.back());
  constexpr std::size_t most = 12;
  if (terms.size() <= most) return fmt::format("{}", fmt::join(terms, ", "));
  return fmt::format("{}, .. ({} terms)", fmt::join(terms.begin(), terms.begin() + 8, ", "), terms.size());
}

std::string describe(const SummationTree& tree) {
  if (tree.terms() == 0) return "nothing to add";
  if (tree.terms() == 1) return "one term";
  if (tree.terms() == 2) return "one addition";
  const std::vector<Accumulation> known = accumulations_like(tree);
  if (!known.empty()) return known_name(known.front());
  return Describer(tree).of(tree.root());
}

}  // namespace parity
