#include "harness/numerics/tree_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "harness/numerics/summation_order.hpp"

namespace parity {
namespace {

using Kind = SummationOrder::Kind;
using Builder = SummationTreeBuilder;

/// One part of a plan: `step` terms at a time join the part's sum.
std::int32_t chain(Builder& builder, const SummationPlan& plan, std::int64_t first, std::int64_t last,
                   std::int64_t step) {
  std::int32_t sum = Builder::nothing;
  for (std::int64_t at = first; at < last; at += step) {
    std::vector<std::int32_t> parts{sum};
    for (std::int64_t i = at; i < std::min(last, at + step); ++i)
      parts.push_back(
          builder.term(plan.permutation.empty() ? i : plan.permutation[static_cast<std::size_t>(i)]));
    sum = builder.add(parts);
  }
  return sum;
}

std::int32_t combine(Builder& builder, SummationPlan::Combine how, std::vector<std::int32_t> sums) {
  switch (how) {
    case SummationPlan::Combine::sequence: {
      std::int32_t total = Builder::nothing;
      for (const std::int32_t sum : sums) total = builder.add(total, sum);
      return total;
    }
    case SummationPlan::Combine::adjacent_tree: {
      // Equal neighbours merge at once, what is left at the end from the right: as in emulated_matmul.cpp.
      std::vector<std::int32_t> stack;
      const auto merge = [&] {
        const std::int32_t right = stack.back();
        stack.pop_back();
        stack.back() = builder.add(stack.back(), right);
      };
      for (std::size_t i = 0; i < sums.size(); ++i) {
        stack.push_back(sums[i]);
        for (std::size_t done = i + 1; done % 2 == 0; done /= 2) merge();
      }
      while (stack.size() > 1) merge();
      return stack.empty() ? Builder::nothing : stack.front();
    }
    case SummationPlan::Combine::halving_tree: {
      for (std::size_t n = sums.size(); n > 1;) {
        const std::size_t half = (n + 1) / 2;
        for (std::size_t i = 0; i + half < n; ++i) sums[i] = builder.add(sums[i], sums[i + half]);
        n = half;
      }
      return sums.empty() ? Builder::nothing : sums.front();
    }
  }
  return Builder::nothing;
}

/// Leaf counts of the nodes above term 0, up to the root.
std::vector<std::int64_t> counts_above_first(const SummationTree& tree) {
  std::vector<std::int64_t> counts;
  for (std::int32_t i = 0; i < tree.size(); ++i)
    if (tree.node(i).smallest == 0 && !tree.node(i).leaf()) counts.push_back(tree.node(i).terms);
  return counts;
}

/// The least term that meets term 0's own sum first.
std::int64_t first_partner(const SummationTree& tree) {
  for (std::int32_t i = 0; i < tree.size(); ++i)
    if (tree.node(i).smallest == 0 && !tree.node(i).leaf()) return tree.node(tree.children(i)[1]).smallest;
  return 0;
}

}  // namespace

Result<SummationTree> tree_of(const Accumulation& accumulation, std::int64_t terms) {
  if (auto valid = check_accumulation(accumulation); !valid) return tl::unexpected(valid.error());
  if (accumulation.order.kind == Kind::tree) {
    if (accumulation.order.tree->terms() == terms) return *accumulation.order.tree;
    return bad_input(fmt::format("{} has {} terms; the sum has {}", to_string(accumulation),
                                 accumulation.order.tree->terms(), terms));
  }
  const auto plan = plan_summation(accumulation.order, terms);
  if (!plan) return tl::unexpected(plan.error());
  const std::int64_t step =
      accumulation.multiply_add == MultiplyAdd::multi_term ? accumulation.adder.terms : 1;
  Builder builder;
  std::vector<std::int32_t> sums;
  for (std::size_t part = 0; part + 1 < plan->begin.size(); ++part)
    sums.push_back(chain(builder, *plan, plan->begin[part], plan->begin[part + 1], step));
  return builder.finish(combine(builder, plan->combine, std::move(sums)));
}

std::vector<Accumulation> accumulations_like(const SummationTree& tree) {
  const std::int64_t terms = tree.terms();
  if (terms == 0) return {};
  // What a width could be shows along the way from term 0 to the root: a part of `length` terms next meets
  // another part, as long or the last.
  std::set<std::int64_t> lengths, lanes;
  const std::vector<std::int64_t> counts = counts_above_first(tree);
  for (std::size_t i = 0; i + 1 < counts.size(); ++i)
    if (counts[i + 1] == std::min(2 * counts[i], terms)) lengths.insert(counts[i]);
  const std::int64_t partner = first_partner(tree);
  constexpr std::int64_t most_lanes = 1024;
  for (std::int64_t w = 2; w <= most_lanes; w *= 2) lanes.insert(w);
  if (partner > 1 && partner <= most_lanes) lanes.insert({partner, 2 * partner - 1, 2 * partner});

  std::vector<Accumulation> candidates;
  const bool fused = tree.largest_fan_in() > 2;
  const auto candidate = [&](Kind kind, std::int64_t width) {
    Accumulation a{{kind, width, 0}, fused ? MultiplyAdd::multi_term : MultiplyAdd::fused, {}};
    // The first step has no sum yet: all its children are terms.
    if (fused) {
      std::int32_t first = 0;
      while (tree.node(first).leaf()) ++first;
      a.adder.terms = static_cast<int>(std::min<std::int64_t>(tree.node(first).children, 1024));
    }
    candidates.push_back(a);
  };
  candidate(Kind::sequential, 0);
  if (!fused) {
    candidate(Kind::reversed, 0);
    candidate(Kind::pairwise, 0);
    for (const std::int64_t w : lanes) candidate(Kind::strided, w);
  }
  // Parts of one length are blocks or a split: whichever number is a power of two names it better.
  for (const std::int64_t length : lengths) {
    const std::int64_t parts = (terms + length - 1) / length;
    const bool block_first = std::has_single_bit(static_cast<std::uint64_t>(length)) ||
                             !std::has_single_bit(static_cast<std::uint64_t>(parts));
    if (block_first) candidate(Kind::blocked, length);
    candidate(Kind::split_k, parts);
    if (!block_first) candidate(Kind::blocked, length);
  }

  std::erase_if(candidates, [&](const Accumulation& a) {
    const auto own = tree_of(a, terms);
    return !own || !(*own == tree);
  });
  return candidates;
}

}  // namespace parity
