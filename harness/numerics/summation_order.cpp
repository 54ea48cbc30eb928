#include "harness/numerics/summation_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "harness/numerics/summation_tree.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

using Kind = SummationOrder::Kind;

std::vector<std::int64_t> cut(std::int64_t terms, std::int64_t length) {
  std::vector<std::int64_t> begin;
  for (std::int64_t at = 0; at < terms; at += length) begin.push_back(at);
  if (begin.empty()) begin.push_back(0);
  begin.push_back(terms);
  return begin;
}

std::vector<std::int64_t> shuffled(std::int64_t terms, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(terms));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t i = terms - 1; i > 0; --i) {
    const PhiloxBlock block = philox(seed, static_cast<std::uint64_t>(i), 0);
    const auto random = (static_cast<std::uint64_t>(block.word[0]) << 32) | block.word[1];
    const auto j = static_cast<std::size_t>(random % static_cast<std::uint64_t>(i + 1));
    std::swap(order[static_cast<std::size_t>(i)], order[j]);
  }
  return order;
}

}  // namespace

std::int64_t SummationPlan::longest_part() const {
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < begin.size(); ++i) longest = std::max(longest, begin[i] - begin[i - 1]);
  return longest;
}

std::int64_t SummationPlan::combine_depth() const {
  if (parts() <= 1) return 0;
  if (combine == Combine::sequence) return parts() - 1;  // adding part 0 to zero is exact
  return std::bit_width(static_cast<std::uint64_t>(parts() - 1));
}

Result<void> check_accumulation(const Accumulation& accumulation) {
  const SummationOrder& order = accumulation.order;
  const bool needs_width =
      order.kind == Kind::blocked || order.kind == Kind::split_k || order.kind == Kind::strided;
  if (needs_width && order.width < 1) {
    return bad_input(fmt::format("summation order {}: width is {}; give a width of 1 or more",
                                 to_string(accumulation), order.width));
  }
  if (order.kind == Kind::tree) {
    if (!order.tree) return bad_input("summation order tree: there is no tree; give one");
    if (accumulation.multiply_add != MultiplyAdd::multi_term && order.tree->largest_fan_in() > 2)
      return bad_input(fmt::format("{}: the tree adds up to {} terms at once; that needs a multi-term adder",
                                   to_string(accumulation), order.tree->largest_fan_in()));
  }
  if (accumulation.multiply_add != MultiplyAdd::multi_term) return {};
  const MultiTermAdder& adder = accumulation.adder;
  if (adder.terms < 1 || adder.terms > 1024 || adder.fraction_bits < 1 || adder.fraction_bits > 40) {
    return bad_input(
        fmt::format("multi-term adder: {} terms and {} fraction bits; terms must be 1 to 1024 and "
                    "fraction bits 1 to 40",
                    adder.terms, adder.fraction_bits));
  }
  if (order.kind != Kind::sequential && order.kind != Kind::blocked && order.kind != Kind::split_k &&
      order.kind != Kind::tree) {
    return bad_input(
        fmt::format("{}: a multi-term adder takes its steps sequentially, blocked, split-K or as a tree; "
                    "choose one of these orders",
                    to_string(accumulation)));
  }
  return {};
}

Result<SummationPlan> plan_summation(const SummationOrder& order, std::int64_t terms) {
  if (auto valid = check_accumulation({order, MultiplyAdd::fused, {}}); !valid) {
    return tl::unexpected<Error>(valid.error());
  }
  SummationPlan plan;
  const std::int64_t whole = std::max<std::int64_t>(terms, 1);
  switch (order.kind) {
    case Kind::sequential:
      plan.begin = cut(terms, whole);
      break;
    case Kind::reversed:
      plan.begin = cut(terms, whole);
      plan.permutation.resize(static_cast<std::size_t>(terms));
      std::iota(plan.permutation.rbegin(), plan.permutation.rend(), std::int64_t{0});
      break;
    case Kind::permuted:
      plan.begin = cut(terms, whole);
      plan.permutation = shuffled(terms, order.seed);
      break;
    case Kind::pairwise:
      plan.begin = cut(terms, 1);
      plan.combine = SummationPlan::Combine::adjacent_tree;
      break;
    case Kind::blocked:
      plan.begin = cut(terms, order.width);
      break;
    case Kind::split_k:
      plan.begin = cut(terms, std::max<std::int64_t>((terms + order.width - 1) / order.width, 1));
      break;
    case Kind::strided: {
      plan.combine = SummationPlan::Combine::halving_tree;
      // A lane without terms holds zero and still takes its place in the tree.
      for (std::int64_t lane = 0; lane < order.width; ++lane) {
        plan.begin.push_back(static_cast<std::int64_t>(plan.permutation.size()));
        for (std::int64_t k = lane; k < terms; k += order.width) plan.permutation.push_back(k);
      }
      plan.begin.push_back(terms);
      break;
    }
    case Kind::tree:
      return bad_input(
          "a summation order given as a tree has no plan; the emulated arithmetic follows the tree");
  }
  return plan;
}

}  // namespace parity
