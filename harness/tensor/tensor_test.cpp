#include "harness/tensor/tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace parity {
namespace {

Tensor make(DType dtype, Shape shape, Strides strides = {}) {
  auto tensor = Tensor::create(dtype, std::move(shape), std::move(strides));
  EXPECT_TRUE(tensor) << (tensor ? "" : tensor.error().message);
  return tensor ? *std::move(tensor) : Tensor();
}

std::string error_of(DType dtype, Shape shape, Strides strides = {}) {
  const auto tensor = Tensor::create(dtype, std::move(shape), std::move(strides));
  return tensor ? "no error" : tensor.error().message;
}

TEST(DTypeTest, NamesSizesAndFormats) {
  for (const DType type : all_dtypes) {
    EXPECT_EQ(parse_dtype(name_of(type)), type);
    EXPECT_EQ(name_of(format_of(type)), name_of(type));
  }
  EXPECT_EQ(parse_dtype("bfloat16"), DType::bf16);
  EXPECT_EQ(parse_dtype("half"), DType::f16);
  EXPECT_EQ(parse_dtype("f8"), std::nullopt);
  EXPECT_EQ(name_of(tf32_format), "tf32");
  EXPECT_EQ(name_of(FloatFormat{5, -6, 7}), "custom");
  EXPECT_EQ(largest_finite(format_of(DType::f32)), static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(largest_finite(format_of(DType::f64)), std::numeric_limits<double>::max());
  EXPECT_EQ(largest_finite(format_of(DType::f16)), 65504.0);
  EXPECT_EQ(largest_finite(format_of(DType::bf16)), 0x1.fep127);
  EXPECT_EQ(largest_finite(format_of(DType::i32)), 2147483647.0);
  EXPECT_EQ(largest_finite(format_of(DType::i8)), 127.0);
  EXPECT_EQ(parse_dtype("int8"), DType::i8);
  EXPECT_FALSE(is_float(DType::i8));
  EXPECT_EQ(smallest_subnormal(format_of(DType::f64)), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(smallest_subnormal(format_of(DType::f16)), 0x1p-24);
  EXPECT_EQ(smallest_normal(format_of(DType::f16)), 0x1p-14);
  EXPECT_EQ(unit_roundoff(format_of(DType::f16)), 0x1p-11);
}

TEST(DTypeTest, SpacingOfNumbers) {
  const FloatFormat half = format_of(DType::f16);
  EXPECT_EQ(ulp_at(half, 1.0), 0x1p-10);
  EXPECT_EQ(ulp_at(half, -1.999), 0x1p-10);
  EXPECT_EQ(ulp_at(half, 2.0), 0x1p-9);
  EXPECT_EQ(ulp_at(half, 0.0), 0x1p-24);
  EXPECT_EQ(ulp_at(half, 0x1p-20), 0x1p-24);
  EXPECT_EQ(ulp_at(half, 1e30), 32.0);
  EXPECT_EQ(ulp_at(half, std::numeric_limits<double>::infinity()), 32.0);
  EXPECT_TRUE(std::isnan(ulp_at(half, std::nan(""))));
  EXPECT_EQ(ulp_at(format_of(DType::i32), 0.3), 1.0);
  EXPECT_EQ(ulp_at(format_of(DType::i8), 127), 1.0);
  for (const float x : {1.0F, 3.7F, 1e-40F, 1e30F}) {
    EXPECT_EQ(ulp_at(format_of(DType::f32), static_cast<double>(x)),
              static_cast<double>(std::nextafter(x, INFINITY)) - static_cast<double>(x));
  }
}

TEST(TensorTest, StridesAndOffsets) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Strides{});
  EXPECT_EQ(leading_strides({2, 3, 4}, 5), (Strides{15, 5, 1}));
  const Tensor padded = make(DType::f32, {2, 3}, {5, 1});
  EXPECT_EQ(padded.elements(), 6);
  EXPECT_EQ(padded.extent(), 8);
  EXPECT_EQ(padded.bytes().size(), 32U);
  EXPECT_FALSE(padded.contiguous());
  EXPECT_EQ(padded.offset_of(4), 6);
  const Tensor column_major = make(DType::f32, {2, 3}, {1, 2});
  EXPECT_EQ(column_major.extent(), 6);
  EXPECT_FALSE(column_major.contiguous());
  EXPECT_EQ(column_major.offset_of(1), 2);
  EXPECT_EQ(column_major.offset_of(3), 1);
  EXPECT_TRUE(make(DType::f32, {1, 3}, {100, 1}).contiguous());
  EXPECT_TRUE(make(DType::f32, {}).contiguous());
  EXPECT_EQ(make(DType::f32, {}).elements(), 1);
}

TEST(TensorTest, OffsetsReachEveryPositionOnce) {
  const Tensor tensor = make(DType::i32, {3, 4, 5}, {1, 40, 7});
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) seen.insert(tensor.offset_of(i));
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), tensor.elements());
  EXPECT_EQ(*seen.rbegin(), tensor.extent() - 1);
}

TEST(TensorTest, EmptyDimensions) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 1'000'000'000'000, 1'000'000'000'000}}) {
    const Tensor tensor = make(DType::f64, shape);
    EXPECT_EQ(tensor.elements(), 0);
    EXPECT_EQ(tensor.extent(), 0);
    EXPECT_TRUE(tensor.bytes().empty());
    EXPECT_TRUE(tensor.contiguous());
  }
}

TEST(TensorTest, RefusesWhatCannotBe) {
  EXPECT_NE(error_of(DType::f32, {2, -1}).find("dimension 1 is negative"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {0, -1}).find("dimension 1 is negative"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {1LL << 40, 1LL << 40}).find("overflows 64 bits"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {2, 3}, {1}).find("2 dimensions but 1 strides"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {2, 3}, {-3, 1}).find("stride 0 is negative"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {2, 3}, {2, 1}).find("rows overlap"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {2, 3}, {3, 0}).find("rows overlap"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {2, 3, 4}, {8, 4, 1}).find("rows overlap"), std::string::npos);
  EXPECT_NE(error_of(DType::f32, {3, 2}, {1LL << 62, 1}).find("overflows 64 bits"), std::string::npos);
  EXPECT_NE(error_of(DType::f64, {1LL << 37, 2}).find("limit is 2^40 bytes"), std::string::npos);
  EXPECT_NE(error_of(DType::f64, {2, 2}, {1LL << 41, 1}).find("limit is 2^40 bytes"), std::string::npos);
}

TEST(TensorTest, ValuesRoundOnceAndSurviveStrides) {
  Tensor tensor = make(DType::f16, {2, 2}, {3, 1});
  tensor.set_value(3, 1.0 + 0x1p-11 + 0x1p-40);  // just above the tie: a rounding by way of fp32 would give 1
  EXPECT_EQ(tensor.value(3), 1.0 + 0x1p-10);
  EXPECT_EQ(tensor.bits(3), 0x3c01U);
  EXPECT_EQ(tensor.as<std::uint16_t>()[4], 0x3c01U);
  tensor.set_bits(0, 0xfc00U);
  EXPECT_EQ(tensor.value(0), -std::numeric_limits<double>::infinity());
  Tensor integers = make(DType::i32, {4});
  integers.set_value(0, 2.5);
  integers.set_value(1, -1e300);
  integers.set_value(2, std::nan(""));
  integers.set_value(3, 2147483646.7);
  EXPECT_EQ(integers.value(0), 2.0);
  EXPECT_EQ(integers.value(1), -2147483648.0);
  EXPECT_EQ(integers.value(2), 0.0);
  EXPECT_EQ(integers.value(3), 2147483647.0);
  Tensor bytes = make(DType::i8, {5});
  const double given[] = {2.5, -1e300, std::nan(""), 127.4, -3.5}, kept[] = {2, -128, 0, 127, -4};
  for (std::int64_t i = 0; i < 5; ++i) bytes.set_value(i, given[i]);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(bytes.value(i), kept[i]) << i;
  EXPECT_EQ(bytes.bits(1), 0x80U);
}

Tensor counted(DType dtype, Shape shape, Strides strides = {}) {
  Tensor tensor = make(dtype, std::move(shape), std::move(strides));
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.set_value(i, static_cast<double>(i % 251) - 100.0);
  return tensor;
}

TEST(ContentHashTest, DependsOnContentAlone) {
  const std::uint64_t hash = content_hash(counted(DType::f32, {300, 200}));
  EXPECT_EQ(content_hash(counted(DType::f32, {300, 200}, {211, 1})), hash);
  EXPECT_EQ(content_hash(counted(DType::f32, {300, 200}, {1, 300})), hash);
  EXPECT_NE(content_hash(counted(DType::f32, {200, 300})), hash);
  EXPECT_NE(content_hash(counted(DType::f32, {60000})), hash);
  EXPECT_NE(content_hash(counted(DType::f16, {300, 200})), hash);
}

TEST(ContentHashTest, EveryBitOfEveryElementCounts) {
  Tensor tensor = counted(DType::f16, {37});
  std::set<std::uint64_t> hashes = {content_hash(tensor)};
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    for (int bit = 0; bit < 16; ++bit) {
      const std::uint64_t before = tensor.bits(i);
      tensor.set_bits(i, before ^ (1U << bit));
      hashes.insert(content_hash(tensor));
      tensor.set_bits(i, before);
    }
  }
  EXPECT_EQ(hashes.size(), 1U + 37U * 16U);
}

TEST(ContentHashTest, PairsOfFlippedSignsAreTold) {
  Tensor tensor = counted(DType::f32, {96});
  std::set<std::uint64_t> hashes = {content_hash(tensor)};
  const auto flip = [&](std::int64_t i) { tensor.set_bits(i, tensor.bits(i) ^ 0x80000000U); };
  for (std::int64_t i = 0; i < 96; ++i) {
    for (std::int64_t j = i; j < 96; ++j) {
      flip(i);
      if (j != i) flip(j);
      hashes.insert(content_hash(tensor));
      flip(i);
      if (j != i) flip(j);
    }
  }
  EXPECT_EQ(hashes.size(), 1U + 96U * 97U / 2U);
}

TEST(ContentHashTest, SeesSwappedElementsAndBlocks) {
  Tensor tensor = make(DType::i32, {5 * 16384});
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, static_cast<double>(i / 16384));
  const std::uint64_t hash = content_hash(tensor);
  Tensor swapped = tensor;
  for (std::int64_t i = 0; i < 16384; ++i) {
    swapped.set_value(i, 1.0);
    swapped.set_value(i + 16384, 0.0);
  }
  EXPECT_NE(content_hash(swapped), hash);
}

TEST(ContentHashTest, StoredHashes) {
  // Records of other machines hold these; a change breaks the comparison with them.
  EXPECT_EQ(content_hash(make(DType::f32, {})), 0x5f2d3eab81443f32U);
  EXPECT_EQ(content_hash(make(DType::f32, {0})), 0x43627f0b2b1d2da4U);
  EXPECT_EQ(content_hash(counted(DType::bf16, {3, 5})), 0x74cd55c90523615dU);
  EXPECT_EQ(content_hash(counted(DType::f64, {100, 1000})), 0x7ee3657a2e88a572U);
}

}  // namespace
}  // namespace parity
