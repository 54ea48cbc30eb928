#include "harness/tensor/convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "harness/tensor/convert_kernels.hpp"

namespace parity {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_nan16(std::uint16_t bits, DType type) {
  return std::isnan(decode(type, bits));
}
std::uint16_t quiet(std::uint16_t bits, DType type) {
  return static_cast<std::uint16_t>(bits | (type == DType::f16 ? 0x200 : 0x40));
}

TEST(ConvertTest, EveryHalfPatternRoundTrips) {
  for (std::uint32_t word = 0; word < 65536; ++word) {
    const auto bits = static_cast<std::uint16_t>(word);
    const std::uint16_t half = is_nan16(bits, DType::f16) ? quiet(bits, DType::f16) : bits;
    const std::uint16_t brain = is_nan16(bits, DType::bf16) ? quiet(bits, DType::bf16) : bits;
    for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
      ASSERT_EQ(f32_to_f16(f16_to_f32(bits), rounding), half) << word;
      ASSERT_EQ(f32_to_bf16(bf16_to_f32(bits), rounding), brain) << word;
      ASSERT_EQ(encode(DType::f16, decode(DType::f16, bits), rounding), half) << word;
      ASSERT_EQ(encode(DType::bf16, decode(DType::bf16, bits), rounding), brain) << word;
    }
  }
}

#ifdef __FLT16_MAX__  // the compiler knows _Float16 on this target; clang does so from release 15 on
TEST(ConvertTest, EveryHalfPatternWidensAsTheCompilerDoes) {
  for (std::uint32_t word = 0; word < 65536; ++word) {
    const auto bits = static_cast<std::uint16_t>(word);
    const float expected = static_cast<float>(std::bit_cast<_Float16>(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(f16_to_f32(bits)), std::bit_cast<std::uint32_t>(expected)) << word;
  }
}

void expect_like_compiler(std::uint32_t word) {
  const float value = std::bit_cast<float>(word);
  const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  ASSERT_EQ(f32_to_f16(value), expected) << std::hex << word;
}

TEST(ConvertTest, FloatToHalfAgreesWithTheCompiler) {
  // A stride that visits every exponent with changing fractions.
  for (std::uint64_t word = 0; word < (std::uint64_t{1} << 32); word += 4093) {
    expect_like_compiler(static_cast<std::uint32_t>(word));
  }
  // Every half, every midpoint between two halves, and the fp32 numbers around them.
  for (std::uint32_t half = 0; half < 0x7c00; ++half) {
    const float low = f16_to_f32(static_cast<std::uint16_t>(half));
    const float high = half == 0x7bff ? 65536.0F : f16_to_f32(static_cast<std::uint16_t>(half + 1));
    const auto exact = std::bit_cast<std::uint32_t>(low);
    const auto middle = std::bit_cast<std::uint32_t>(low / 2.0F + high / 2.0F);
    for (const std::uint32_t near : {exact, middle}) {
      for (const std::uint32_t word : {near - 1, near, near + 1}) {
        if (word > near + 1) continue;  // below zero
        expect_like_compiler(word);
        expect_like_compiler(word | 0x80000000U);
      }
    }
  }
}
#else
TEST(ConvertTest, EveryHalfPatternWidensAsTheCompilerDoes) {
  GTEST_SKIP() << "this compiler has no _Float16";
}
TEST(ConvertTest, FloatToHalfAgreesWithTheCompiler) {
  GTEST_SKIP() << "this compiler has no _Float16";
}
#endif

TEST(ConvertTest, OverflowAndUnderflow) {
  EXPECT_EQ(f32_to_f16(65519.996F), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(f32_to_f16(65520.0F, Rounding::toward_zero), 0x7bff);
  EXPECT_EQ(f32_to_f16(-1e30F, Rounding::toward_zero), 0xfbff);
  EXPECT_EQ(f32_to_f16(-INFINITY, Rounding::toward_zero), 0xfc00);
  EXPECT_EQ(f32_to_f16(0x1p-25F), 0x0000);
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(f32_to_f16(-0x1.8p-24F), 0x8002);
  EXPECT_EQ(f32_to_f16(-0x1.8p-24F, Rounding::toward_zero), 0x8001);
  EXPECT_EQ(f32_to_bf16(0x1.fffffep127F), 0x7f80);
  EXPECT_EQ(f32_to_bf16(0x1.fffffep127F, Rounding::toward_zero), 0x7f7f);
  EXPECT_EQ(f32_to_bf16(0x1p-134F), 0x0000);
  EXPECT_EQ(f32_to_bf16(0x1.8p-134F), 0x0001);
  EXPECT_EQ(encode(DType::f32, 1e300), 0x7f800000U);
  EXPECT_EQ(encode(DType::f32, 1e300, Rounding::toward_zero), 0x7f7fffffU);
  EXPECT_EQ(encode(DType::f16, -1e300, Rounding::toward_zero), 0xfbffU);
  EXPECT_EQ(encode(DType::f16, -infinity, Rounding::toward_zero), 0xfc00U);
}

TEST(ConvertTest, NanStaysNanWithItsPayload) {
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0x7fc02000U)), 0x7e01);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xffc10000U)), 0xffc1);
  // Payloads that the narrow format cannot hold, and signalling ones: never infinity.
  for (const std::uint32_t word : {0x7f800001U, 0x7fc00001U, 0xff800fffU, 0x7fffffffU, 0xffffffffU}) {
    const float value = std::bit_cast<float>(word);
    for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
      EXPECT_TRUE(is_nan16(f32_to_f16(value, rounding), DType::f16));
      EXPECT_TRUE(is_nan16(f32_to_bf16(value, rounding), DType::bf16));
      EXPECT_EQ(f32_to_f16(value, rounding) >> 15, word >> 31);
    }
  }
  const double tagged = std::bit_cast<double>(0x7ffda5a5a5a5a5a5U);
  EXPECT_EQ(encode(DType::f32, tagged), 0x7fed2d2dU);
  EXPECT_EQ(encode(DType::f32, tagged, Rounding::toward_zero), 0x7fed2d2dU);
}

/// Rounding by search among the format's neighbours, in exact fp64 arithmetic: independent of bit tricks.
double nearest_by_search(const FloatFormat& format, double x) {
  const double ulp = ulp_at(format, x);
  const double low = std::floor(x / ulp) * ulp;
  const double high = low + ulp;
  double result = x - low < high - x ? low : high;
  if (x - low == high - x) result = std::fmod(std::fabs(low / ulp), 2.0) == 0.0 ? low : high;
  if (x == low) result = low;
  return std::fabs(result) > largest_finite(format) ? std::copysign(infinity, x) : result;
}

constexpr FloatFormat fp8_e4m3_like{4, -6, 7};

TEST(RoundToTest, AgreesWithASearchAmongNeighbours) {
  std::mt19937_64 random(7);
  for (const FloatFormat& format : {format_of(DType::f16), format_of(DType::bf16), format_of(DType::f32),
                                    tf32_format, fp8_e4m3_like, FloatFormat{3, -14, 15}}) {
    std::uniform_int_distribution<int> exponent(format.min_exponent - format.precision - 2,
                                                std::min(1000, format.max_exponent + 2));
    for (int i = 0; i < 200'000; ++i) {
      // Half of them on a multiple of a quarter ulp, where ties and near ties live.
      double x = std::ldexp(static_cast<double>(random() >> 11) * 0x1p-52, exponent(random));
      if (i % 2 == 0) {
        const double quarter = ulp_at(format, x) / 4.0;
        x = std::nearbyint(x / quarter) * quarter;
      }
      if (i % 3 == 0) x = -x;
      ASSERT_EQ(round_to(format, x), nearest_by_search(format, x)) << name_of(format) << " " << x;
      const double truncated = round_to(format, x, Rounding::toward_zero);
      const double ulp = ulp_at(format, x);
      const double expected = std::min(std::floor(std::fabs(x) / ulp) * ulp, largest_finite(format));
      ASSERT_EQ(truncated, std::copysign(expected, x)) << name_of(format) << " " << x;
      ASSERT_EQ(std::signbit(truncated), std::signbit(x));
    }
  }
}

TEST(RoundToTest, OverflowStartsHalfAnUlpBeyondTheLargest) {
  for (const FloatFormat& format :
       {format_of(DType::f16), format_of(DType::bf16), format_of(DType::f32), tf32_format}) {
    const double largest = largest_finite(format);
    const double edge = largest + ulp_at(format, largest) / 2.0;
    EXPECT_EQ(round_to(format, std::nextafter(edge, 0.0)), largest);
    EXPECT_EQ(round_to(format, edge), infinity);
    EXPECT_EQ(round_to(format, -edge), -infinity);
    EXPECT_EQ(round_to(format, 1e300, Rounding::toward_zero), largest);
    EXPECT_EQ(round_to(format, -infinity, Rounding::toward_zero), -infinity);
    EXPECT_TRUE(std::isnan(round_to(format, std::nan(""))));
  }
  EXPECT_EQ(round_to(format_of(DType::f64), 0.1), 0.1);
  EXPECT_TRUE(std::signbit(round_to(format_of(DType::f16), -1e-300)));
}

TEST(ConvertTest, DoubleNarrowsInOneRounding) {
  std::mt19937_64 random(11);
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    const FloatFormat format = format_of(type);
    std::uniform_int_distribution<int> exponent(format.min_exponent - format.precision - 2,
                                                format.max_exponent + 1);
    std::int64_t through_float_differs = 0;
    for (int i = 0; i < 300'000; ++i) {
      const double start = std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, exponent(random));
      // A tie of the format, moved by an amount that fp32 cannot see.
      const double ulp = ulp_at(format, start);
      const double tie = (std::floor(start / ulp) + 0.5) * ulp;
      const double x = i % 3 == 0   ? start
                       : i % 3 == 1 ? std::nextafter(tie, infinity)
                                    : std::nextafter(tie, 0.0);
      for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
        const double expected = round_to(format, x, rounding);
        ASSERT_EQ(decode(type, encode(type, x, rounding)), expected) << name_of(type) << " " << x;
        ASSERT_EQ(decode(type, encode(type, -x, rounding)), -expected) << name_of(type) << " " << x;
      }
      const auto single = static_cast<float>(x);
      if (type == DType::f16 && f32_to_f16(single) != encode(type, x)) ++through_float_differs;
    }
    // The planted fault, a rounding by way of fp32, is one that these values see.
    if (type == DType::f16) {
      EXPECT_GT(through_float_differs, 10'000);
    }
  }
}

std::vector<double> hard_values(std::size_t count) {
  std::mt19937_64 random(3);
  std::uniform_int_distribution<int> exponent(-140, 130);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52,
                                i % 2 == 0 ? exponent(random) : static_cast<int>(i % 40) - 25);
    values[i] = i % 3 == 0 ? -x : x;
    if (i % 7 == 3)
      values[i] =
          std::nextafter(1.0 + static_cast<double>(2 * (i % 1000) + 1) * 0x1p-11, i % 2 == 0 ? 0.0 : 9.0);
    if (i % 101 == 5) values[i] = std::bit_cast<double>(0x7ffda5a5a5a5a5a5U + i);
    if (i % 103 == 5) values[i] = infinity;
  }
  return values;
}

TEST(ConvertTest, LoopsAgreeWithScalarsOnEveryLayout) {
  for (const DType type : all_dtypes) {
    for (const Strides& strides : {Strides{}, Strides{340, 1}, Strides{1, 301}, Strides{680, 2}}) {
      Tensor tensor = *Tensor::create(type, {301, 337}, strides);
      const auto values = hard_values(301 * 337);
      for (const Rounding rounding : {Rounding::toward_zero, Rounding::nearest_even}) {
        narrow(values, tensor, rounding);
        for (std::size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(tensor.bits(static_cast<std::int64_t>(i)), encode(type, values[i], rounding))
              << name_of(type) << " " << values[i] << " at " << i;
        }
      }
      const auto wide = to_doubles(tensor);
      std::vector<float> single(values.size());
      widen(tensor, single);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double expected = decode(type, tensor.bits(static_cast<std::int64_t>(i)));
        ASSERT_EQ(std::bit_cast<std::uint64_t>(wide[i]), std::bit_cast<std::uint64_t>(expected))
            << name_of(type);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(single[i]),
                  std::bit_cast<std::uint32_t>(static_cast<float>(expected)));
      }
    }
  }
}

TEST(ConvertTest, PortableLoopsGiveTheSameBits) {
  const auto values = hard_values(4099);
  std::vector<std::uint16_t> fast(values.size()), portable(values.size());
  kernels::narrow_f16(values.data(), fast.data(), 4099);
  kernels::narrow_f16_portable(values.data(), portable.data(), 4099);
  EXPECT_EQ(fast, portable);
  std::vector<std::uint16_t> every(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) every[i] = static_cast<std::uint16_t>(i);
  std::vector<float> wide(65536), wide_portable(65536);
  kernels::widen_f16(every.data(), wide.data(), 65536);
  kernels::widen_f16_portable(every.data(), wide_portable.data(), 65536);
  for (std::size_t i = 0; i < 65536; ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(wide_portable[i])) << i;
  }
}

TEST(ConvertTest, TensorsConvertAndBecomeContiguous) {
  Tensor tensor = *Tensor::create(DType::f32, {70, 300}, {1, 71});
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, static_cast<double>(i) / 3.0);
  tensor.set_bits(5, 0x7f800001U);  // a signalling NaN: a copy keeps its bits
  const auto same = convert(tensor, DType::f32);
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->contiguous());
  EXPECT_EQ(content_hash(*same), content_hash(tensor));
  EXPECT_EQ(same->bits(5), 0x7f800001U);
  const auto half = convert(tensor, DType::f16);
  ASSERT_TRUE(half);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    ASSERT_EQ(half->bits(i), encode(DType::f16, tensor.value(i)));
  EXPECT_EQ(convert(*Tensor::create(DType::f32, {0, 3}), DType::i32)->elements(), 0);
}

}  // namespace
}  // namespace parity
