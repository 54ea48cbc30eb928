// The emulated arithmetic against scalar code in exact integer arithmetic, written independently: every
// number is an integer in units of a fixed power of two, rounded by shifts.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "harness/numerics/arithmetic_testing.hpp"

namespace parity {
namespace {

using namespace parity::testing;
using Kind = SummationOrder::Kind;

int bit_length(std::int64_t x) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x < 0 ? -x : x)));
}

std::int64_t round_even(std::int64_t x, int bits) {
  const int drop = bit_length(x) - bits;
  if (drop <= 0) return x;
  const std::int64_t magnitude = x < 0 ? -x : x;
  const std::int64_t step = std::int64_t{1} << drop;
  std::int64_t kept = magnitude / step * step;
  const std::int64_t rest = magnitude - kept;
  if (2 * rest > step || (2 * rest == step && (kept / step) % 2 != 0)) kept += step;
  return x < 0 ? -kept : kept;
}

std::int64_t cut(std::int64_t x, int drop) {
  if (drop <= 0) return x;
  const std::int64_t magnitude = (x < 0 ? -x : x) >> drop << drop;
  return x < 0 ? -magnitude : magnitude;
}

/// A dot product of integers in the model's order; the result in units of the product of the operands' units.
class IntegerDot {
 public:
  IntegerDot(Accumulation how, int bits, std::vector<std::int64_t> a, std::vector<std::int64_t> b)
      : how_(how), bits_(bits), a_(std::move(a)), b_(std::move(b)) {}

  std::int64_t result() const {
    const auto n = static_cast<std::int64_t>(a_.size());
    std::vector<std::int64_t> all(a_.size());
    std::iota(all.begin(), all.end(), 0);
    const std::int64_t width = how_.order.width;
    switch (how_.order.kind) {
      case Kind::sequential:
        return chain(all);
      case Kind::reversed:
        return chain({all.rbegin(), all.rend()});
      case Kind::pairwise:
        return tree(0, n);
      case Kind::blocked:
        return in_parts(all, width);
      case Kind::split_k:
        return in_parts(all, std::max<std::int64_t>((n + width - 1) / width, 1));
      case Kind::strided: {
        std::vector<std::int64_t> lanes;
        for (std::int64_t lane = 0; lane < width; ++lane) {
          std::vector<std::int64_t> mine;
          for (std::int64_t k = lane; k < n; k += width) mine.push_back(k);
          lanes.push_back(chain(mine));
        }
        while (lanes.size() > 1) {
          const std::size_t half = (lanes.size() + 1) / 2;
          for (std::size_t i = half; i < lanes.size(); ++i)
            lanes[i - half] = rounded(lanes[i - half] + lanes[i]);
          lanes.resize(half);
        }
        return lanes[0];
      }
      case Kind::permuted:
      case Kind::tree:
        break;  // tested apart
    }
    return 0;
  }

 private:
  std::int64_t rounded(std::int64_t x) const { return round_even(x, bits_); }
  std::int64_t product(std::int64_t k) const {
    return a_[static_cast<std::size_t>(k)] * b_[static_cast<std::size_t>(k)];
  }

  std::int64_t chain(const std::vector<std::int64_t>& terms) const {
    std::int64_t sum = 0;
    if (how_.multiply_add == MultiplyAdd::multi_term) {
      const auto step = static_cast<std::size_t>(how_.adder.terms);
      for (std::size_t at = 0; at < terms.size(); at += step) {
        sum = multi_term(sum, {terms.data() + at, std::min(step, terms.size() - at)});
      }
      return sum;
    }
    for (const std::int64_t k : terms) {
      sum = how_.multiply_add == MultiplyAdd::fused ? rounded(sum + product(k))
                                                    : rounded(sum + rounded(product(k)));
    }
    return sum;
  }

  std::int64_t multi_term(std::int64_t sum, std::span<const std::int64_t> terms) const {
    int top = sum == 0 ? -1000 : bit_length(sum) - 1;
    for (const std::int64_t k : terms) {
      const auto i = static_cast<std::size_t>(k);
      if (product(k) != 0) top = std::max(top, bit_length(a_[i]) - 1 + bit_length(b_[i]) - 1);
    }
    const int drop = top - how_.adder.fraction_bits;
    std::int64_t total = cut(sum, drop);
    for (const std::int64_t k : terms) total += cut(product(k), drop);
    return how_.adder.rounding == Rounding::nearest_even ? rounded(total)
                                                         : cut(total, bit_length(total) - bits_);
  }

  std::int64_t tree(std::int64_t first, std::int64_t n) const {
    if (n == 0) return 0;
    if (n == 1) return rounded(product(first));
    const auto left = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n - 1)));
    return rounded(tree(first, left) + tree(first + left, n - left));
  }

  std::int64_t in_parts(const std::vector<std::int64_t>& all, std::int64_t length) const {
    std::int64_t total = 0;
    for (auto at = all.begin(); at != all.end();) {
      const auto end = at + std::min<std::int64_t>(length, all.end() - at);
      total = rounded(total + chain({at, end}));
      at = end;
    }
    return total;
  }

  Accumulation how_;
  int bits_;
  std::vector<std::int64_t> a_, b_;
};

/// Random integers of up to `bits` bits and, for `wide`, of many sizes.
std::vector<std::int64_t> random_integers(std::int64_t n, int bits, bool wide, bool positive,
                                          std::uint64_t seed) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) {
    const PhiloxBlock random = philox(seed, static_cast<std::uint64_t>(i), 99);
    const int drop = wide ? static_cast<int>(random.word[1] % static_cast<unsigned>(bits)) : 0;
    const auto magnitude = static_cast<std::int64_t>(random.word[0] >> (32 - bits)) >> drop;
    out.push_back(!positive && random.word[2] % 2 == 0 ? -magnitude : magnitude);
  }
  return out;
}

/// Compares every element of a small product with IntegerDot.
void compare(const ArithmeticModel& model, int input_bits, int unit_exponent, std::int64_t m, std::int64_t n,
             std::int64_t k, bool wide, bool positive, std::uint64_t seed) {
  const auto a = random_integers(m * k, input_bits, wide, positive, seed);
  const auto b = random_integers(k * n, input_bits, wide, positive, seed + 1000);
  const auto values = [&](const std::vector<std::int64_t>& x) {
    std::vector<double> out;
    for (const std::int64_t i : x) out.push_back(std::ldexp(static_cast<double>(i), unit_exponent));
    return out;
  };
  const DType input = model.precision.input;
  const Value c = emulate(model, tensor_of(input, {m, k}, values(a)), tensor_of(input, {k, n}, values(b)));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::vector<std::int64_t> row, column;
      for (std::int64_t p = 0; p < k; ++p) {
        row.push_back(a[static_cast<std::size_t>(i * k + p)]);
        column.push_back(b[static_cast<std::size_t>(p * n + j)]);
      }
      const int bits = format_of(model.precision.accumulate).precision;
      const std::int64_t want = IntegerDot(*model.accumulation, bits, row, column).result();
      ASSERT_EQ(c.v[static_cast<std::size_t>(i * n + j)],
                std::ldexp(static_cast<double>(want), 2 * unit_exponent))
          << to_string(model) << " K=" << k << " at " << i << ", " << j << " seed " << seed;
    }
  }
}

TEST(EmulatedMatmul, ChainsAndTreesRoundLikeExactIntegers) {
  struct Formats {
    DType input, accumulate;
    int bits, unit;
  };
  for (const Formats f : {Formats{DType::f32, DType::f32, 24, -20}, Formats{DType::f16, DType::f32, 11, -8},
                          Formats{DType::f16, DType::f16, 11, -9}, Formats{DType::bf16, DType::bf16, 8, -7},
                          Formats{DType::bf16, DType::f32, 8, -7}}) {
    for (const SummationOrder& order :
         {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::reversed, 0, 0},
          SummationOrder{Kind::pairwise, 0, 0}, SummationOrder{Kind::blocked, 8, 0},
          SummationOrder{Kind::split_k, 3, 0}, SummationOrder{Kind::strided, 5, 0},
          SummationOrder{Kind::strided, 32, 0}}) {
      for (const MultiplyAdd multiply_add : {MultiplyAdd::fused, MultiplyAdd::separate}) {
        for (const std::int64_t k : {0, 1, 2, 7, 64, 100}) {
          compare(model_of(f.input, f.accumulate, order, multiply_add), f.bits, f.unit, 7, 19, k, k % 2 != 0,
                  k == 64, static_cast<std::uint64_t>(k) + 1);
        }
      }
    }
  }
}

TEST(EmulatedMatmul, MultiTermAdderIsExactInIntegers) {
  for (const DType input : {DType::f16, DType::bf16}) {
    for (const int terms : {4, 8, 16}) {
      for (const int fraction_bits : {23, 24, 25, 30}) {
        for (const SummationOrder& order :
             {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::split_k, 3, 0},
              SummationOrder{Kind::blocked, 32, 0}}) {
          ArithmeticModel model = model_of(input, DType::f32, order, MultiplyAdd::multi_term);
          model.accumulation->adder = {terms, fraction_bits};
          for (const std::int64_t k : {1, 15, 16, 100, 588}) {
            const int bits = input == DType::f16 ? 11 : 8;
            compare(model, bits, -8, 3, 17, k, k % 2 == 0, k == 15, static_cast<std::uint64_t>(k * terms));
          }
        }
      }
    }
  }
}

TEST(EmulatedMatmul, MultiTermAdderRoundsToAnFp16Accumulator) {
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
    for (const int terms : {4, 8, 16}) {
      for (const int fraction_bits : {11, 14, 24, 25, 30}) {
        for (const SummationOrder& order :
             {SummationOrder{Kind::sequential, 0, 0}, SummationOrder{Kind::split_k, 3, 0},
              SummationOrder{Kind::blocked, 32, 0}}) {
          ArithmeticModel model = model_of(DType::f16, DType::f16, order, MultiplyAdd::multi_term);
          model.precision.scratch = DType::f32;
          model.accumulation->adder = {terms, fraction_bits, rounding};
          for (const std::int64_t k : {1, 15, 17, 100, 588})
            compare(model, 11, -9, 3, 17, k, k % 2 == 0, k == 15, static_cast<std::uint64_t>(k * terms));
        }
      }
    }
  }
}

TEST(EmulatedMatmul, MultiTermAdderMayRoundAnFp32SumToNearest) {
  ArithmeticModel model = model_of(DType::f16, DType::f32, {}, MultiplyAdd::multi_term);
  model.accumulation->adder = {8, 30, Rounding::nearest_even};
  for (const std::int64_t k : {7, 100, 588}) compare(model, 11, -8, 3, 17, k, k == 100, false, 9);
}

TEST(EmulatedMatmul, Fp16SumsOfAMultiTermAdderUnderflowAndOverflow) {
  ArithmeticModel model = model_of(DType::f16, DType::f16, {}, MultiplyAdd::multi_term);
  model.accumulation->adder = {4, 25, Rounding::nearest_even};
  const auto sum = [&](std::vector<double> a, std::vector<double> b) {
    const auto k = static_cast<std::int64_t>(a.size());
    return emulate(model, tensor_of(DType::f16, {1, k}, a), tensor_of(DType::f16, {k, 1}, b)).v[0];
  };
  // Within a step 2^-25 is kept; alone it is a tie between 0 and the smallest subnormal.
  EXPECT_EQ(sum({0x1p-12}, {0x1p-13}), 0);
  EXPECT_EQ(sum({0x1p-12, 0x1p-12}, {0x1p-13, 0x1p-13}), 0x1p-24);
  EXPECT_EQ(sum({0x1p-12, 0, 0, 0, 0x1p-12}, {0x1p-13, 0, 0, 0, 0x1p-13}), 0);  // in two steps
  // A subnormal sum counts with exponent -14, so the grid is 2^-39 and the last bit of a product is cut: what
  // is left is a tie, to the even side.
  EXPECT_EQ(sum({0x1p-23, 0, 0, 0, 0x1p-12, 0x1p-20}, {1, 0, 0, 0, 0x1p-13, 0x1p-20}), 0x1p-23);
  // 65504 + 16 is a tie to infinity, which stays.
  const std::vector<double> up{2047, 16, 0, 0, -2047, 0}, factor{32, 1, 0, 0, 32, 0};
  EXPECT_EQ(sum(up, factor), HUGE_VAL);
  model.accumulation->adder.rounding = Rounding::toward_zero;
  EXPECT_EQ(sum(up, factor), 0);
  EXPECT_EQ(sum({1, 0x1.ffcp-12}, {1, 1}), 1);
  model.accumulation->adder.rounding = Rounding::nearest_even;
  EXPECT_EQ(sum({1, 0x1.004p-11}, {1, 1}), 1 + 0x1p-10);
  model.denormals = Denormals::flush;
  EXPECT_EQ(sum({0x1p-12, 0x1p-12}, {0x1p-13, 0x1p-13}), 0);
}

TEST(EmulatedMatmul, MultiTermAdderWithWideMultiplyFormat) {
  ArithmeticModel model = model_of(DType::f32, DType::f32, {}, MultiplyAdd::multi_term);
  for (const std::int64_t k : {1, 33, 100}) compare(model, 24, -20, 3, 17, k, true, false, 5);
}

TEST(EmulatedMatmul, PermutedIsASequentialSumOfPermutedInputs) {
  const Factors f = make_factors(DType::f32, Fill::normal, 3, 5, 9, 77);
  const Value permuted = emulate(model_of(DType::f32, DType::f32, {Kind::permuted, 0, 42}), f.a, f.b);
  const Value sequential = emulate(model_of(DType::f32, DType::f32, {}), f.a, f.b);
  EXPECT_NE(permuted.v, sequential.v);
  EXPECT_EQ(permuted.v, emulate(model_of(DType::f32, DType::f32, {Kind::permuted, 0, 42}), f.a, f.b).v);
  for (std::size_t i = 0; i < permuted.v.size(); ++i) EXPECT_NEAR(permuted.v[i], sequential.v[i], 1e-4);
}

TEST(EmulatedMatmul, TransposedOperandsAndBatchesGiveTheSameBits) {
  for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::multi_term}) {
    const ArithmeticModel model = model_of(DType::f16, DType::f32, {}, how);
    const Factors f = make_factors(DType::f16, Fill::normal, 3, 13, 21, 50);
    const Value plain = emulate(model, f.a, f.b);
    Tensor at = make_tensor(DType::f16, {50, 13});
    Tensor bt = make_tensor(DType::f16, {21, 50});
    for (std::int64_t i = 0; i < 13; ++i) {
      for (std::int64_t k = 0; k < 50; ++k) at.set_bits(k * 13 + i, f.a.bits(i * 50 + k));
    }
    for (std::int64_t j = 0; j < 21; ++j) {
      for (std::int64_t k = 0; k < 50; ++k) bt.set_bits(j * 50 + k, f.b.bits(k * 21 + j));
    }
    auto arithmetic = *make_emulated_arithmetic(model);
    const Value turned = arithmetic->matmul(arithmetic->load(at), true, arithmetic->load(bt), true);
    EXPECT_EQ(plain.v, turned.v);
    Value batched = arithmetic->load(f.a);
    batched.batch = 2;
    batched.v.insert(batched.v.end(), batched.v.begin(), batched.v.end());
    const Value twice = arithmetic->matmul(batched, false, arithmetic->load(f.b), false);
    ASSERT_EQ(twice.size(), 2 * plain.size());
    for (std::size_t i = 0; i < plain.v.size(); ++i) EXPECT_EQ(twice.v[i + plain.v.size()], plain.v[i]);
  }
}

TEST(EmulatedMatmul, NanAndInfinityReachTheirRowOrColumnOnly) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate, MultiplyAdd::multi_term}) {
    const ArithmeticModel model = model_of(DType::f16, DType::f32, {}, how);
    Factors f = make_factors(DType::f16, Fill::positive, 1, 6, 18, 20);
    f.a.set_value(2 * 20 + 7, std::nan(""));
    f.b.set_value(3 * 18 + 11, inf);
    const Value c = emulate(model, f.a, f.b);
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t j = 0; j < 18; ++j) {
        const double v = c.v[static_cast<std::size_t>(i * 18 + j)];
        if (i == 2) {
          EXPECT_TRUE(std::isnan(v));
        } else {
          EXPECT_EQ(v == inf, j == 11) << i << ", " << j;
          EXPECT_FALSE(std::isnan(v));
        }
      }
    }
  }
}

TEST(EmulatedMatmul, MultiTermAlignsSubnormalInputsUnnormalised) {
  // 2^-24 is fp16's smallest subnormal; its exponent field says -14. Aligned by that, the grid is 2^-39 and
  // the other product, 2^-28 (1 + 2^-8 + 2^-18), loses its last bit; by the normalised exponent it would be
  // kept.
  const Tensor a = tensor_of(DType::f16, {1, 2}, {0x1p-24, 0x1p-14 * (1 + 0x1p-9)});
  const Tensor b = tensor_of(DType::f16, {2, 1}, {1, 0x1p-14 * (1 + 0x1p-9)});
  const Value sum = emulate(model_of(DType::f16, DType::f32, {}, MultiplyAdd::multi_term), a, b);
  EXPECT_EQ(sum.v[0], 0x1p-24 + 0x1p-28 * (1 + 0x1p-8));
}

TEST(EmulatedMatmul, DenormalsAreKeptOrFlushed) {
  // 2^-100 * 2^-30 = 2^-130, a subnormal fp32; 2^-126 + 2^-130 is normal.
  const Tensor a = tensor_of(DType::f32, {2, 2}, {0x1p-100, 0, 0x1p-100, 1});
  const Tensor b = tensor_of(DType::f32, {2, 1}, {0x1p-30, 0x1p-126});
  for (const MultiplyAdd how : {MultiplyAdd::fused, MultiplyAdd::separate, MultiplyAdd::multi_term}) {
    ArithmeticModel model = model_of(DType::f32, DType::f32, {}, how);
    const Value kept = emulate(model, a, b);
    EXPECT_EQ(kept.v[0], 0x1p-130);
    EXPECT_EQ(kept.v[1], 0x1p-126 + 0x1p-130);
    model.denormals = Denormals::flush;
    const Value flushed = emulate(model, a, b);
    EXPECT_EQ(flushed.v[0], 0);
    // One multi-term step never writes the product; a chain does.
    EXPECT_EQ(flushed.v[1], how == MultiplyAdd::multi_term ? 0x1p-126 + 0x1p-130 : 0x1p-126);
  }
  // The mode does not outlive the call.
  volatile float small = 0x1p-126f;
  EXPECT_GT(small * 0.25f, 0.0f);
}

TEST(EmulatedMatmul, NarrowAccumulatorUnderflowsAndOverflows) {
  const ArithmeticModel model = model_of(DType::f16, DType::f16, {});
  // 2^-25 is a tie between 0 and the smallest subnormal, 2^-24; 1.5 * 2^-25 is above it.
  const Tensor small = tensor_of(DType::f16, {2, 1}, {0x1p-12, 0x1.8p-12});
  const Value tiny = emulate(model, small, tensor_of(DType::f16, {1, 1}, {0x1p-13}));
  EXPECT_EQ(tiny.v[0], 0);
  EXPECT_EQ(tiny.v[1], 0x1p-24);
  // 65504 is the largest; 65504 + 15 rounds back to it, 65504 + 16 is a tie and rounds up, to infinity.
  const Tensor large = tensor_of(DType::f16, {2, 2}, {2047, 15, 2047, 16});
  const Value huge = emulate(model, large, tensor_of(DType::f16, {2, 1}, {32, 1}));
  EXPECT_EQ(huge.v[0], 65504);
  EXPECT_TRUE(std::isinf(huge.v[1]));
}

TEST(EmulatedMatmul, InputsAreRoundedToTheMultiplyFormat) {
  ArithmeticModel model = model_of(DType::f32, DType::f32, {});
  model.precision.multiply = tf32_format;
  const Tensor a = tensor_of(DType::f32, {1, 1}, {1 + 0x1.8p-11});
  const Tensor one = tensor_of(DType::f32, {1, 1}, {1});
  EXPECT_EQ(emulate(model, a, one).v[0], 1 + 0x1p-10);
  model.multiply_rounding = Rounding::toward_zero;
  EXPECT_EQ(emulate(model, a, one).v[0], 1);
}

TEST(EmulatedMatmul, RefusesWhatItCannotCompute) {
  const auto refusal = [](const ArithmeticModel& model) {
    const auto made = make_emulated_arithmetic(model);
    return made ? std::string() : made.error().message;
  };
  ArithmeticModel model = model_of(DType::f32, DType::f32, {});
  EXPECT_EQ(refusal(model), "");
  model.denormals = Denormals::either;
  EXPECT_NE(refusal(model).find("denormals"), std::string::npos);
  model.denormals = Denormals::preserve;
  model.accumulation.reset();
  EXPECT_NE(refusal(model).find("order"), std::string::npos);
  model = model_of(DType::f16, DType::f32, {Kind::pairwise, 0, 0}, MultiplyAdd::multi_term);
  EXPECT_NE(refusal(model).find("pairwise"), std::string::npos);
  model = model_of(DType::f16, DType::f32, {Kind::blocked, 0, 0});
  EXPECT_NE(refusal(model).find("width"), std::string::npos);
  model = model_of(DType::f16, DType::f16, {}, MultiplyAdd::multi_term);
  EXPECT_EQ(refusal(model), "");
  model = model_of(DType::bf16, DType::bf16, {}, MultiplyAdd::multi_term);
  EXPECT_NE(refusal(model).find("f32 or f16"), std::string::npos);
}

}  // namespace
}  // namespace parity
