#include "harness/numerics/summation_tree.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/multi_term_adder.hpp"
#include "harness/numerics/tree_description.hpp"
#include "harness/numerics/tree_drawing.hpp"
#include "harness/numerics/tree_order.hpp"

namespace parity {
namespace {

using Kind = SummationOrder::Kind;

SummationTree parse(std::string_view text) {
  auto tree = parse_summation_tree(text);
  EXPECT_TRUE(tree) << text << (tree ? "" : ": " + tree.error().message);
  return tree ? *tree : SummationTree{};
}

Accumulation chain(Kind kind, std::int64_t width = 0) {
  return {{kind, width, 0}, MultiplyAdd::fused, {}};
}
Accumulation adder(Kind kind, std::int64_t width, int terms) {
  return {{kind, width, 0}, MultiplyAdd::multi_term, {terms, 25}};
}

TEST(SummationTree, IsCanonicalInItsText) {
  EXPECT_EQ(parse("(2 (1 0))").text(), "((0 1) 2)");
  EXPECT_EQ(parse("(2 (1 0))"), parse("((0 1) 2)"));
  EXPECT_NE(parse("(0 (1 2))"), parse("((0 1) 2)"));
  EXPECT_EQ(parse("(3 (2 0 1))").text(), "((0 1 2) 3)");
  EXPECT_EQ(parse("0").text(), "0");
  EXPECT_EQ(parse("()").terms(), 0);
  // Stable from version to version: records carry it.
  EXPECT_EQ(parse("((0 1) 2)").hash_text(), "0b4d165772f0b7fc");
}

TEST(SummationTree, RefusesWhatIsNoTree) {
  for (const char* text : {"((0 1) 1)", "(0 2)", "(0 1", "0 1)", "0 1", "(0 x)", "(0 99999999)"}) {
    const auto tree = parse_summation_tree(text);
    EXPECT_FALSE(tree) << text;
    if (tree) continue;
    EXPECT_EQ(tree.error().kind, ErrorKind::bad_input);
  }
}

TEST(SummationTree, OfKnownOrders) {
  EXPECT_EQ(tree_of(chain(Kind::sequential), 4)->text(), "(((0 1) 2) 3)");
  EXPECT_EQ(tree_of(chain(Kind::reversed), 4)->text(), "(0 (1 (2 3)))");
  EXPECT_EQ(tree_of(chain(Kind::pairwise), 5)->text(), "(((0 1) (2 3)) 4)");
  EXPECT_EQ(tree_of(chain(Kind::blocked, 2), 5)->text(), "(((0 1) (2 3)) 4)");
  EXPECT_EQ(tree_of(chain(Kind::split_k, 2), 5)->text(), "(((0 1) 2) (3 4))");
  EXPECT_EQ(tree_of(chain(Kind::strided, 2), 5)->text(), "(((0 2) 4) (1 3))");
  EXPECT_EQ(tree_of(chain(Kind::strided, 4), 3)->text(), "((0 2) 1)");  // lane 3 is empty
  EXPECT_EQ(tree_of(adder(Kind::sequential, 0, 2), 5)->text(), "(((0 1) 2 3) 4)");
  EXPECT_FALSE(tree_of(chain(Kind::blocked, 0), 5));
}

TEST(SummationTree, KnownOrdersAreRecognised) {
  for (const Accumulation& a :
       {chain(Kind::sequential), chain(Kind::reversed), chain(Kind::pairwise), chain(Kind::blocked, 32),
        chain(Kind::split_k, 4), chain(Kind::strided, 8), chain(Kind::strided, 64), chain(Kind::strided, 7),
        adder(Kind::sequential, 0, 16), adder(Kind::blocked, 64, 16), adder(Kind::split_k, 4, 8)}) {
    for (const std::int64_t k : {1, 3, 33, 64, 100, 588}) {
      const auto tree = tree_of(a, k);
      ASSERT_TRUE(tree);
      const std::vector<Accumulation> found = accumulations_like(*tree);
      ASSERT_FALSE(found.empty()) << to_string(a) << " K=" << k;
      for (const Accumulation& f : found) EXPECT_EQ(*tree_of(f, k), *tree) << to_string(f);
    }
  }
  const auto name = [](const Accumulation& a, std::int64_t k) { return describe(*tree_of(a, k)); };
  EXPECT_EQ(name(chain(Kind::sequential), 588), "sequential");
  EXPECT_EQ(name(chain(Kind::reversed), 588), "reversed");
  EXPECT_EQ(name(chain(Kind::pairwise), 588), "pairwise");
  EXPECT_EQ(name(chain(Kind::blocked, 32), 588), "blocked 32");
  EXPECT_EQ(name(chain(Kind::split_k, 4), 588), "split-K 4");
  EXPECT_EQ(name(chain(Kind::strided, 64), 588), "strided 64");
  EXPECT_EQ(name(chain(Kind::strided, 7), 588), "strided 7");
  EXPECT_EQ(name(adder(Kind::sequential, 0, 16), 588), "sequential, fused 16+1");
  EXPECT_EQ(name(adder(Kind::split_k, 4, 8), 588), "split-K 4, fused 8+1");
}

/// Lanes of `lanes` interleaved terms, in blocks of `block` terms, the blocks in sequence.
SummationTree lanes_in_blocks(std::int64_t terms, std::int64_t block, std::int64_t lanes) {
  SummationTreeBuilder builder;
  std::int32_t total = SummationTreeBuilder::nothing;
  for (std::int64_t first = 0; first < terms; first += block) {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(lanes), SummationTreeBuilder::nothing);
    for (std::int64_t i = 0; i < block; ++i) {
      std::int32_t& sum = sums[static_cast<std::size_t>(i % lanes)];
      sum = builder.add(sum, builder.term(first + i));
    }
    std::int32_t own = SummationTreeBuilder::nothing;
    for (const std::int32_t sum : sums) own = builder.add(own, sum);
    total = builder.add(total, own);
  }
  return *builder.finish(total);
}

TEST(SummationTree, OtherOrdersAreDescribedByWhatRepeats) {
  const SummationTree tree = lanes_in_blocks(256, 64, 4);
  EXPECT_TRUE(accumulations_like(tree).empty());
  EXPECT_EQ(describe(tree),
            "4 contiguous parts of 64 terms in sequence, each: 4 interleaved parts of 16 terms in sequence, "
            "each: sequential over 16 terms");
  EXPECT_EQ(
      draw_text(tree),
      "256 terms, in sequence:\n"
      "|-- 64 terms, in sequence:\n"
      "|   |-- 16 terms, in sequence:\n"
      "|   |   |-- terms 0, 4\n"
      "|   |   `-- + 14 x a term: 8, 12, .. 60\n"
      "|   `-- + 3 x [1, 5, .. 61] [2, 6, .. 62] [3, 7, .. 63], the first: 16 terms, in sequence:\n"
      "|       |-- terms 1, 5\n"
      "|       `-- + 14 x a term: 9, 13, .. 61\n"
      "`-- + 3 x [64..127] [128..191] [192..255], the first: 64 terms, in sequence:\n"
      "    |-- 16 terms, in sequence:\n"
      "    |   |-- terms 64, 68\n"
      "    |   `-- + 14 x a term: 72, 76, .. 124\n"
      "    `-- + 3 x [65, 69, .. 125] [66, 70, .. 126] [67, 71, .. 127], the first: 16 terms, in sequence:\n"
      "        |-- terms 65, 69\n"
      "        `-- + 14 x a term: 73, 77, .. 125\n");
}

TEST(SummationTree, DrawingsStayShort) {
  EXPECT_EQ(draw_text(*tree_of(chain(Kind::sequential), 4096)),
            "4096 terms, in sequence:\n|-- terms 0..1\n`-- + 4094 x a term: 2..4095\n");
  EXPECT_EQ(
      draw_text(*tree_of(adder(Kind::sequential, 0, 16), 100)),
      "100 terms, in sequence:\n|-- 16 terms fused: 0..15\n|-- + 5 x 16 terms fused with the sum: 16..95\n"
      "`-- + 4 terms fused with the sum: 96..99\n");
  EXPECT_EQ(draw_text(*tree_of(chain(Kind::pairwise), 64)), "pairwise over 64 terms: 0..63\n");
  const std::string random = draw_text(*tree_of({{Kind::permuted, 0, 3}, MultiplyAdd::fused, {}}, 4096), 40);
  EXPECT_LE(std::ranges::count(random, '\n'), 41);
}

TEST(SummationTree, SvgNamesItsTitle) {
  const std::string svg = draw_svg(*tree_of(adder(Kind::sequential, 0, 16), 64), "a < b & c");
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

Value random_matrix(std::int64_t rows, std::int64_t cols, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Value value;
  value.rows = rows;
  value.cols = cols;
  for (std::int64_t i = 0; i < rows * cols; ++i)
    value.v.push_back(round_to(format_of(dtype), normal(random)));
  return value;
}

/// The general evaluation of a tree gives the bits of the fast path of its known order.
TEST(SummationTree, ReplaysTheBitsOfKnownOrders) {
  struct Trial {
    Accumulation accumulation;
    DType input, accumulate;
  };
  std::vector<Trial> trials;
  for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate}) {
    for (const auto& [kind, width] : {std::pair<Kind, std::int64_t>{Kind::sequential, 0},
                                      {Kind::reversed, 0},
                                      {Kind::pairwise, 0},
                                      {Kind::blocked, 32},
                                      {Kind::split_k, 4},
                                      {Kind::strided, 8}}) {
      trials.push_back({{{kind, width, 0}, how, {}}, DType::f32, DType::f32});
      trials.push_back({{{kind, width, 0}, how, {}}, DType::f64, DType::f64});
      trials.push_back({{{kind, width, 0}, how, {}}, DType::f16, DType::f16});
    }
  }
  trials.push_back({adder(Kind::sequential, 0, 16), DType::f16, DType::f32});
  trials.push_back({adder(Kind::split_k, 4, 8), DType::bf16, DType::f32});
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
    Accumulation narrow = adder(Kind::split_k, 3, 16);
    narrow.adder.rounding = rounding;
    trials.push_back({narrow, DType::f16, DType::f16});
  }
  const std::int64_t k = 100;
  for (const Trial& trial : trials) {
    // Parts of one term each are rounded products that are added; a tree cannot tell (0 1) from a chain.
    if (trial.accumulation.order.kind == Kind::pairwise &&
        trial.accumulation.multiply_add == MultiplyAdd::fused)
      continue;
    ArithmeticModel model;
    model.precision.input = trial.input;
    model.precision.multiply = format_of(trial.input);
    model.precision.accumulate = trial.accumulate;
    if (trial.accumulate == DType::f64) model.precision.scratch = DType::f64;
    model.accumulation = trial.accumulation;
    const Value a = random_matrix(9, k, trial.input, 1), b = random_matrix(k, 21, trial.input, 2);
    const auto known = make_emulated_arithmetic(model);
    ASSERT_TRUE(known) << known.error().message;
    const Value want = (*known)->matmul(a, false, b, false);
    model.accumulation->order = {Kind::tree, 0, 0,
                                 std::make_shared<const SummationTree>(*tree_of(trial.accumulation, k))};
    const auto general = make_emulated_arithmetic(model);
    ASSERT_TRUE(general) << general.error().message;
    const Value got = (*general)->matmul(a, false, b, false);
    EXPECT_EQ(got.v, want.v) << to_string(trial.accumulation);
    EXPECT_TRUE(got.bits_known);
    // Another length is not what the tree is about.
    EXPECT_FALSE((*general)->matmul(b, false, random_matrix(21, 3, trial.input, 3), false).bits_known);
  }
}

/// 17 products in one addition of an adder of 16 and a sum: the first was a sum already, normalised; its
/// exponent is that of its value, not that of its factors.
TEST(SummationTree, AProductMoreThanTheAdderTakesCameAsTheSum) {
  const std::int64_t k = 17, rows = 60, cols = 21;
  std::string text = "(0";
  for (std::int64_t i = 1; i < k; ++i) text += fmt::format(" {}", i);
  const auto tree = std::make_shared<const SummationTree>(parse(text + ")"));
  ArithmeticModel model;
  model.precision.input = DType::f16;
  model.precision.multiply = format_of(DType::f16);
  model.accumulation = Accumulation{{Kind::tree, 0, 0, tree}, MultiplyAdd::multi_term, {16, 25}};
  const Value a = random_matrix(rows, k, DType::f16, 1), b = random_matrix(k, cols, DType::f16, 2);
  const auto in_two_steps = (*make_emulated_arithmetic(model))->matmul(a, false, b, false);
  model.accumulation->adder.terms = 17;
  const auto at_once = (*make_emulated_arithmetic(model))->matmul(a, false, b, false);
  EXPECT_NE(in_two_steps.v, at_once.v);
  const auto at = [](const std::vector<double>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      std::vector<double> left, right;
      for (std::int64_t i = 0; i < k; ++i) {
        left.push_back(at(a.v, r * k + i));
        right.push_back(at(b.v, i * cols + c));
      }
      const AdderArithmetic how{{16, 25}, format_of(DType::f16)};
      const double first = multi_term_sum(how, std::span(left).first(1), std::span(right).first(1), {});
      const std::vector<double> sums{first};
      EXPECT_EQ(at(in_two_steps.v, r * cols + c),
                multi_term_sum(how, std::span(left).subspan(1), std::span(right).subspan(1), sums));
      EXPECT_EQ(at(at_once.v, r * cols + c), multi_term_sum(how, left, right, {}));
    }
}

TEST(SummationTree, FusedNodesNeedAnAdder) {
  const auto tree = std::make_shared<const SummationTree>(parse("((0 1 2) 3)"));
  ArithmeticModel model;
  model.accumulation = Accumulation{{Kind::tree, 0, 0, tree}, MultiplyAdd::fused, {}};
  EXPECT_FALSE(make_emulated_arithmetic(model));
  model.accumulation->multiply_add = MultiplyAdd::multi_term;
  EXPECT_TRUE(make_emulated_arithmetic(model));
  model.accumulation->order.tree.reset();
  EXPECT_FALSE(make_emulated_arithmetic(model));
}

}  // namespace
}  // namespace parity
