#include "harness/ladder/run_summary.hpp"

#include <gtest/gtest.h>

namespace parity {
namespace {

/// Results of 60 calls, the last of two ops, the worst in the middle.
std::vector<OutputRecord> many() {
  std::vector<OutputRecord> outputs(60);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].call = static_cast<int>(i);
    outputs[i].op = i < 59 ? "gemm" : "add";
    outputs[i].bits = 1000 + i;
    outputs[i].judgement.statistics.max_bound_ratio = i == 30 ? 0.9 : 0.1;
  }
  return outputs;
}

std::vector<OutputRecord> folded(std::vector<OutputRecord> outputs) {
  std::vector<OutputRecord> into;
  fold(std::move(outputs), into);
  return into;
}

TEST(Fold, KeepsTheWorstOfEachOpAndTheBitsOfAll) {
  const auto kept = folded(many());
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].call, 30);
  EXPECT_EQ(kept[0].calls, 59);
  EXPECT_EQ(kept[1].calls, 1);
  EXPECT_EQ(kept[1].bits, 1059u);
  EXPECT_EQ(folded(many())[0].bits, kept[0].bits);
  // Other bits of any call are other bits of what stands for it, and so is another order.
  for (const std::size_t call : {0u, 29u, 30u, 58u}) {
    auto other = many();
    other[call].bits ^= 1;
    EXPECT_NE(folded(other)[0].bits, kept[0].bits) << call;
  }
  auto swapped = many();
  std::swap(swapped[3].bits, swapped[4].bits);
  EXPECT_NE(folded(swapped)[0].bits, kept[0].bits);
}

TEST(Fold, WhatDoesNotPassIsKeptItself) {
  auto outputs = many();
  outputs[7].judgement.verdict = Verdict::fail;
  const auto kept = folded(outputs);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[1].call, 7);
  EXPECT_EQ(kept[0].calls, 58);
}

}  // namespace
}  // namespace parity
