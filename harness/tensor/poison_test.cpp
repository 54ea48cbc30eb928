#include "harness/tensor/poison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/layout.hpp"

namespace parity {
namespace {

constexpr const auto& poisoned_types = all_dtypes;

TEST(PoisonTest, TagsAreQuietNansOfTheirOwn) {
  for (const DType type : poisoned_types) {
    const std::uint64_t unwritten = poison_bits(type, Poison::unwritten);
    const std::uint64_t guard = poison_bits(type, Poison::guard);
    EXPECT_NE(unwritten, guard);
    if (!is_float(type)) continue;
    EXPECT_NE(unwritten, encode(type, std::nan(""))) << name_of(type);
    EXPECT_NE(guard, encode(type, std::nan(""))) << name_of(type);
    for (const std::uint64_t bits : {unwritten, guard}) {
      EXPECT_TRUE(std::isnan(decode(type, bits))) << name_of(type);
      // Quiet: widening and narrowing again leaves the bits as they are.
      EXPECT_EQ(encode(type, decode(type, bits)), bits) << name_of(type);
    }
  }
}

TEST(PoisonTest, TagsStayApartThroughConversions) {
  for (const DType from : poisoned_types) {
    for (const DType to : poisoned_types) {
      if (!is_float(from) || !is_float(to)) continue;
      const std::set<std::uint64_t> bits = {encode(to, decode(from, poison_bits(from, Poison::unwritten))),
                                            encode(to, decode(from, poison_bits(from, Poison::guard))),
                                            encode(to, std::nan(""))};
      EXPECT_EQ(bits.size(), 3U) << name_of(from) << " to " << name_of(to);
    }
  }
}

/// Gaps found element by element, the slow and obvious way.
std::set<std::int64_t> gaps_of(const Tensor& tensor) {
  std::set<std::int64_t> gaps;
  for (std::int64_t i = 0; i < tensor.extent(); ++i) gaps.insert(i);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) gaps.erase(tensor.offset_of(i));
  return gaps;
}

TEST(PoisonTest, PadsAreExactlyWhatNoIndexReaches) {
  const std::pair<Shape, Strides> layouts[] = {
      {{3, 4}, {4, 1}},
      {{3, 4}, {7, 1}},
      {{3, 4}, {1, 5}},
      {{3, 4}, {9, 2}},
      {{2, 3, 4}, {40, 12, 1}},
      {{2, 3, 4}, {1, 20, 3}},
      {{1, 3, 1}, {1, 2, 1}},
      {{5}, {3}},
      {{}, {}},
      {{1, 1}, {8, 8}},
      {{0, 4}, {6, 1}},
      {{3, 1, 4}, {5, 99, 1}},
  };
  for (const auto& [shape, strides] : layouts) {
    for (const DType type : poisoned_types) {
      Tensor tensor = *Tensor::create(type, shape, strides);
      poison_pads(tensor, Poison::guard);
      EXPECT_TRUE(damaged_pads(tensor).empty());
      const std::set<std::int64_t> gaps = gaps_of(tensor);
      for (std::int64_t i = 0; i < tensor.elements(); ++i) EXPECT_EQ(tensor.bits(i), 0U) << to_string(shape);
      // Every pad, once damaged, is reported, and no element is.
      for (std::byte& byte : tensor.bytes()) byte ^= std::byte{1};
      const auto damaged = damaged_pads(tensor, 1000);
      EXPECT_EQ(std::set<std::int64_t>(damaged.begin(), damaged.end()), gaps)
          << to_string(shape) << to_string(strides);
      EXPECT_EQ(damaged.size(), gaps.size());
    }
  }
}

TEST(PoisonTest, DamageIsCountedUpToTheLimit) {
  Tensor tensor = *Tensor::create(DType::f32, {10, 2}, {4, 1});
  EXPECT_EQ(damaged_pads(tensor, 5).size(), 5U);  // nothing poisoned yet
  EXPECT_EQ(damaged_pads(tensor, 100).size(), 18U);
  poison_all(tensor, Poison::unwritten);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    EXPECT_EQ(tensor.bits(i), poison_bits(DType::f32, Poison::unwritten));
  EXPECT_EQ(damaged_pads(tensor, 100).size(), 18U);  // the other tag is damage too
  poison_pads(tensor, Poison::guard);
  EXPECT_TRUE(damaged_pads(tensor).empty());
  tensor.as<std::uint32_t>()[7] = 0;
  EXPECT_EQ(damaged_pads(tensor), std::vector<std::int64_t>{7});
}

}  // namespace
}  // namespace parity
