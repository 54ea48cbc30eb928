// Healthy results over fills, formats, sizes and orders, judged with the order known and unknown: none may be
// called anything but a pass.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "harness/numerics/judge_testing.hpp"

namespace parity {
namespace {

using namespace judge_testing;
using Kind = SummationOrder::Kind;

std::vector<Accumulation> orders() {
  std::vector<Accumulation> all;
  for (const SummationOrder& order :
       {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::reversed, 0, 0},
        SummationOrder{Kind::pairwise, 0, 0}, SummationOrder{Kind::blocked, 16, 0},
        SummationOrder{Kind::split_k, 4, 0}, SummationOrder{Kind::strided, 8, 0},
        SummationOrder{Kind::permuted, 0, 5}}) {
    all.push_back({order, MultiplyAdd::fused, {}});
  }
  all.push_back({{}, MultiplyAdd::separate, {}});
  all.push_back({{}, MultiplyAdd::multi_term, {16, 25}});
  all.push_back({{}, MultiplyAdd::multi_term, {4, 23}});
  return all;
}

struct Size {
  std::int64_t m, n, k;
};

TEST(FalseAlarms, NoneOverFillsFormatsSizesAndOrders) {
  struct Formats {
    DType input, store, accumulate = DType::f32;
  };
  std::uint64_t seed = 1;
  int tensors = 0;
  for (const Fill fill : {Fill::normal, Fill::uniform, Fill::positive, Fill::cancelling, Fill::wide,
                          Fill::overflow, Fill::subnormal, Fill::integer, Fill::selector}) {
    for (const Formats f : {Formats{DType::f16, DType::f16},
                            {DType::f16, DType::f32},
                            {DType::bf16, DType::bf16},
                            {DType::f32, DType::f32},
                            {DType::f16, DType::f16, DType::f16},
                            {DType::f16, DType::f32, DType::f16}}) {
      for (Accumulation accumulation : orders()) {
        if (f.accumulate == DType::f16) accumulation.adder.rounding = Rounding::nearest_even;
        const Size size = std::vector<Size>{{33, 31, 65}, {1, 63, 588}, {64, 1, 7}, {17, 48, 1}}[seed % 4];
        const Problem p{.m = size.m,
                        .n = size.n,
                        .k = size.k,
                        .input = f.input,
                        .accumulate = f.accumulate,
                        .store = f.store,
                        .accumulation = accumulation,
                        .order_known = seed % 3 != 0,
                        .fill = fill,
                        .seed = seed};
        const Healthy h = healthy(p);
        // As in the ladder: where the order is known, suspects are replayed.
        const auto replay = [&](const std::vector<std::int64_t>& indices) {
          const Tensor again = run(p, h.inputs);
          std::vector<bool> equal;
          for (const std::int64_t i : indices) equal.push_back(again.bits(i) == h.got.bits(i));
          return equal;
        };
        const Judgement j = p.order_known ? judge(h.got, h.want, h.contract, {}, replay) : h.judgement();
        EXPECT_EQ(j.verdict, Verdict::pass)
            << fmt::format("fill {}, {} to {}, {} {} {}, {}, order {}, seed {}\n", name_of(fill),
                           name_of(f.input), name_of(f.store), size.m, size.n, size.k,
                           to_string(accumulation), p.order_known ? "known" : "unknown", seed)
            << reasons(j);
        ++seed;
        ++tensors;
      }
    }
  }
  EXPECT_EQ(tensors, 540);
}

}  // namespace
}  // namespace parity
