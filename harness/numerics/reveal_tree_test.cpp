#include "harness/numerics/reveal_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/tree_order.hpp"

namespace parity {
namespace {

using Kind = SummationOrder::Kind;
using Outcome = Revelation::Outcome;

ArithmeticModel model_of(const Accumulation& accumulation, DType input) {
  ArithmeticModel model;
  model.precision.input = input;
  model.precision.multiply = format_of(input);
  model.accumulation = accumulation;
  return model;
}

Value matrix(std::int64_t rows, std::int64_t cols, double fill) {
  Value value;
  value.rows = rows;
  value.cols = cols;
  value.v.assign(static_cast<std::size_t>(rows * cols), fill);
  return value;
}

/// The emulated arithmetic as a device: one probe a row, against a column of ones.
MaskOracle masks_of(const ArithmeticModel& model, std::int64_t terms) {
  const bool f16 = model.precision.input == DType::f16;
  const double mask = f16 ? 0x1p15 : 0x1p100, unit = f16 ? 0x1p-24 : 1;
  return [=](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
    const auto arithmetic = make_emulated_arithmetic(model);
    if (!arithmetic) return tl::unexpected(arithmetic.error());
    std::vector<double> sums;
    for (std::size_t first = 0; first < probes.size(); first += 256) {
      const std::size_t count = std::min<std::size_t>(256, probes.size() - first);
      Value a = matrix(static_cast<std::int64_t>(count), terms, 0);
      for (std::size_t r = 0; r < count; ++r) {
        const MaskProbe& probe = probes[first + r];
        double* row = a.v.data() + r * static_cast<std::size_t>(terms);
        for (std::int64_t k = probe.first; k < probe.last; ++k) row[k] = unit;
        if (probe.plus >= 0) row[probe.plus] = mask;
        if (probe.minus >= 0) row[probe.minus] = -mask;
      }
      const Value c = (*arithmetic)->matmul(a, false, matrix(terms, 1, 1), false);
      for (const double sum : c.v) sums.push_back(sum / unit);
    }
    return sums;
  };
}

/// Sums of positive fp32 terms: L = 1, spacing 2^-23 above it.
ThresholdOracle thresholds_of(const ArithmeticModel& model, std::int64_t terms) {
  return [=](std::span<const ThresholdProbe> probes) -> Result<std::vector<int>> {
    const auto arithmetic = make_emulated_arithmetic(model);
    if (!arithmetic) return tl::unexpected(arithmetic.error());
    const double half = 0x1p-24, small = half * 0x1p-12;
    Value a = matrix(static_cast<std::int64_t>(probes.size()), terms, small);
    for (std::size_t r = 0; r < probes.size(); ++r) {
      double* row = a.v.data() + r * static_cast<std::size_t>(terms);
      row[probes[r].large] = 1;
      row[probes[r].near] = half - (static_cast<double>(probes[r].threshold) + 0.5) * small;
    }
    const Value c = (*arithmetic)->matmul(a, false, matrix(terms, 1, 1), false);
    std::vector<int> answers;
    for (const double sum : c.v) answers.push_back(sum == 1 ? 0 : sum == 1 + 0x1p-23 ? 1 : -1);
    return answers;
  };
}

std::vector<Accumulation> chain_orders() {
  std::vector<Accumulation> all;
  for (const SummationOrder& order :
       {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::reversed, 0, 0},
        SummationOrder{Kind::pairwise, 0, 0}, SummationOrder{Kind::blocked, 32, 0},
        SummationOrder{Kind::blocked, 5, 0}, SummationOrder{Kind::split_k, 4, 0},
        SummationOrder{Kind::strided, 8, 0}, SummationOrder{Kind::strided, 64, 0},
        SummationOrder{Kind::strided, 7, 0}, SummationOrder{Kind::permuted, 0, 3}})
    all.push_back({order, MultiplyAdd::fused, {}});
  return all;
}

/// Long sums are asked once.
RevealOptions options_for(std::int64_t terms) {
  RevealOptions options;
  if (terms > 100) options.repeats = options.passes = 1;
  return options;
}

TEST(RevealTree, FindsEveryOrderOfTheEmulatedArithmetic) {
  for (const Accumulation& accumulation : chain_orders()) {
    for (const std::int64_t k : {1, 2, 7, 16, 33, 64, 100, 588}) {
      const MaskOracle oracle = masks_of(model_of(accumulation, DType::f32), k);
      const auto check = check_masks(k, k, oracle);
      ASSERT_TRUE(check && check->outcome == Outcome::revealed)
          << (check ? check->why : check.error().message);
      const auto revealed = reveal_tree(k, count_by_masks(k, k, oracle), options_for(k));
      ASSERT_TRUE(revealed) << revealed.error().message;
      ASSERT_TRUE(revealed->tree) << to_string(accumulation) << " K=" << k << ": " << revealed->why;
      EXPECT_EQ(revealed->tree->text(), tree_of(accumulation, k)->text())
          << to_string(accumulation) << " K=" << k;
    }
  }
}

TEST(RevealTree, FindsTheNodesOfMultiTermAdders) {
  for (const auto& [terms, bits] : {std::pair{16, 25}, {8, 24}, {4, 23}, {4, 24}, {32, 13}}) {
    for (const SummationOrder& order :
         {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::blocked, 64, 0},
          SummationOrder{Kind::split_k, 4, 0}}) {
      const Accumulation accumulation{order, MultiplyAdd::multi_term, {terms, bits}};
      for (const std::int64_t k : {1, 2, 7, 16, 33, 64, 100, 588}) {
        if (k > 100 && (terms != 16 || order.kind == Kind::blocked)) continue;  // slow
        const MaskOracle oracle = masks_of(model_of(accumulation, DType::f16), k);
        const auto revealed = reveal_tree(k, count_by_masks(k, k, oracle), options_for(k));
        ASSERT_TRUE(revealed && revealed->tree) << to_string(accumulation) << " K=" << k;
        EXPECT_EQ(revealed->tree->text(), tree_of(accumulation, k)->text())
            << to_string(accumulation) << " K=" << k;
      }
    }
  }
}

TEST(RevealTree, AsksLongSumsInWindows) {
  const Accumulation accumulation{{Kind::strided, 8, 0}, MultiplyAdd::fused, {}};
  const MaskOracle oracle = masks_of(model_of(accumulation, DType::f32), 100);
  const auto revealed = reveal_tree(100, count_by_masks(100, 16, oracle), {});
  ASSERT_TRUE(revealed && revealed->tree);
  EXPECT_EQ(*revealed->tree, *tree_of(accumulation, 100));
}

TEST(RevealTree, FindsOrdersOfPositiveTermsByThresholds) {
  for (const Accumulation& accumulation : chain_orders()) {
    for (const std::int64_t k : {1, 2, 7, 16, 33, 64, 100}) {
      const ThresholdOracle oracle = thresholds_of(model_of(accumulation, DType::f32), k);
      const auto check = check_thresholds(k, oracle);
      ASSERT_TRUE(check && check->outcome == Outcome::revealed);
      const auto revealed = reveal_tree(k, count_by_thresholds(k, oracle), {});
      ASSERT_TRUE(revealed && revealed->tree) << to_string(accumulation) << " K=" << k;
      EXPECT_EQ(revealed->tree->text(), tree_of(accumulation, k)->text())
          << to_string(accumulation) << " K=" << k;
    }
  }
}

/// A random tree: nodes are merged, two to five at a time.
SummationTree random_tree(std::int64_t terms, std::mt19937& random, int most_children) {
  SummationTreeBuilder builder;
  std::vector<std::int32_t> sums;
  for (std::int64_t i = 0; i < terms; ++i) sums.push_back(builder.term(i));
  while (sums.size() > 1) {
    std::ranges::shuffle(sums, random);
    const std::size_t wanted = 2 + random() % static_cast<unsigned>(most_children - 1);
    const std::size_t count = std::min(sums.size(), wanted);
    const std::int32_t sum = builder.add(std::span(sums).last(count));
    sums.resize(sums.size() - count);
    sums.push_back(sum);
  }
  return *builder.finish(sums.front());
}

/// Leaf counts read off a tree, as an ideal device would give them.
LeafCounts counts_of(const SummationTree& tree) {
  return [&tree](std::span<const TermPair> pairs) -> Result<std::vector<std::int64_t>> {
    std::vector<std::int64_t> counts;
    for (const TermPair& pair : pairs) {
      for (std::int32_t i = 0; i < tree.size(); ++i) {
        const auto under = tree.terms_under(i);
        if (!std::ranges::binary_search(under, pair.i) || !std::ranges::binary_search(under, pair.j))
          continue;
        counts.push_back(static_cast<std::int64_t>(under.size()));
        break;  // post-order: the first is the lowest
      }
    }
    return counts;
  };
}

TEST(RevealTree, FindsRandomTrees) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const SummationTree tree = random_tree(1 + random() % 40, random, i % 2 == 0 ? 2 : 5);
    const auto revealed = reveal_tree(tree.terms(), counts_of(tree), {.seed = random()});
    ASSERT_TRUE(revealed && revealed->tree) << tree.text();
    EXPECT_EQ(revealed->tree->text(), tree.text());
  }
}

TEST(RevealTree, FindsRandomTreesThroughTheEmulatedArithmetic) {
  std::mt19937 random(11);
  for (int i = 0; i < 20; ++i) {
    const auto tree =
        std::make_shared<const SummationTree>(random_tree(3 + random() % 40, random, i % 2 == 0 ? 2 : 5));
    Accumulation accumulation;
    accumulation.order = {Kind::tree, 0, 0, tree};
    if (tree->largest_fan_in() > 2) accumulation.multiply_add = MultiplyAdd::multi_term;
    const DType input = tree->largest_fan_in() > 2 ? DType::f16 : DType::f32;
    const auto revealed = reveal_tree(
        tree->terms(),
        count_by_masks(tree->terms(), tree->terms(), masks_of(model_of(accumulation, input), tree->terms())),
        {});
    ASSERT_TRUE(revealed && revealed->tree) << tree->text();
    EXPECT_EQ(revealed->tree->text(), tree->text());
  }
}

TEST(RevealTree, SaysThatAnOrderChangesFromCallToCall) {
  const std::int64_t k = 33;
  const auto one = masks_of(model_of({{Kind::sequential, 0, 0}, MultiplyAdd::fused, {}}, DType::f32), k);
  const auto two = masks_of(model_of({{Kind::strided, 8, 0}, MultiplyAdd::fused, {}}, DType::f32), k);
  int calls = 0;
  const MaskOracle alternating = [&](std::span<const MaskProbe> probes) {
    return calls++ % 2 == 0 ? one(probes) : two(probes);
  };
  const auto revealed = reveal_tree(k, count_by_masks(k, k, alternating), {});
  ASSERT_TRUE(revealed);
  EXPECT_EQ(revealed->outcome, Outcome::not_reproducible);
  EXPECT_FALSE(revealed->tree);
  EXPECT_NE(revealed->why.find("same inputs"), std::string::npos) << revealed->why;
}

TEST(RevealTree, SaysThatAnOrderDependsOnTheProbe) {
  // Odd places of a batch add backwards: the same bits in every run, and yet no one tree.
  const std::int64_t k = 33;
  const auto one = masks_of(model_of({{Kind::sequential, 0, 0}, MultiplyAdd::fused, {}}, DType::f32), k);
  const auto two = masks_of(model_of({{Kind::reversed, 0, 0}, MultiplyAdd::fused, {}}, DType::f32), k);
  const MaskOracle mixed = [&](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
    auto sums = *one(probes);
    const auto others = *two(probes);
    for (std::size_t i = 1; i < sums.size(); i += 2) sums[i] = others[i];
    return sums;
  };
  const auto revealed = reveal_tree(k, count_by_masks(k, k, mixed), {});
  ASSERT_TRUE(revealed);
  EXPECT_EQ(revealed->outcome, Outcome::no_single_tree);
}

TEST(RevealTree, SaysThatMasksAreNotVisible) {
  // An accumulator wide enough for everything hides nothing; units that are flushed do not add up.
  const MaskOracle exact = [](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
    std::vector<double> sums;
    for (const MaskProbe& p : probes) {
      double units = static_cast<double>(p.last - p.first);
      for (const std::int64_t mask : {p.plus, p.minus}) units -= mask >= p.first && mask < p.last;
      sums.push_back(units);
    }
    return sums;
  };
  const auto wide = check_masks(16, 16, exact);
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->outcome, Outcome::not_visible);
  const MaskOracle flushed = [](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
    return std::vector<double>(probes.size(), 0.0);
  };
  const auto lost = check_masks(16, 16, flushed);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->outcome, Outcome::not_visible);
  // An adder that truncates has no half spacing to look for.
  const Accumulation truncating{{Kind::sequential, 0, 0}, MultiplyAdd::multi_term, {4, 23}};
  const auto cut = check_thresholds(16, thresholds_of(model_of(truncating, DType::f32), 16));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->outcome, Outcome::not_visible);
}

TEST(RevealTree, ChainsOfThousandsTakeFewQuestions) {
  const Accumulation reversed{{Kind::reversed, 0, 0}, MultiplyAdd::fused, {}};
  const auto tree = tree_of(reversed, 1024);
  const LeafCounts counts = [](std::span<const TermPair> pairs) -> Result<std::vector<std::int64_t>> {
    std::vector<std::int64_t> all;
    for (const TermPair& pair : pairs) all.push_back(1024 - std::min(pair.i, pair.j));
    return all;
  };
  const auto revealed = reveal_tree(1024, counts, {.repeats = 1, .passes = 1});
  ASSERT_TRUE(revealed && revealed->tree);
  EXPECT_EQ(*revealed->tree, *tree);
  EXPECT_LT(revealed->questions, 16 * 1024);
  const auto refused = reveal_tree(1024, counts, {.most_questions = 100});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace parity
