#include "harness/ladder/guarded_buffer.hpp"

#include <gtest/gtest.h>

namespace parity {
namespace {

TEST(GuardedBuffer, LayoutHoldsBothZones) {
  const TensorSpec spec{"x", DType::f16, {3, 5}, {9, 1}, TensorSpec::Role::input};
  const auto layout = guarded_layout(spec);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->payload_bytes, (2 * 9 + 5) * 2u);
  EXPECT_EQ(layout->total() % 256, 0u);
  EXPECT_GE(layout->total(), layout->payload_bytes + 2 * guard_bytes);
}

TEST(GuardedBuffer, OverflowingShapeIsAnErrorThatNamesTheTensor) {
  const TensorSpec spec{"huge", DType::f32, {1ll << 40, 1ll << 40}, {}, TensorSpec::Role::input};
  const auto layout = guarded_layout(spec);
  ASSERT_FALSE(layout);
  EXPECT_NE(layout.error().message.find("'huge'"), std::string::npos);
}

TEST(GuardedBuffer, SeesOneDamagedByteOnEitherSide) {
  const TensorSpec spec{"x", DType::f32, {4}, {1}, TensorSpec::Role::output};
  std::vector<std::byte> front(guard_bytes), rear(guard_bytes);
  fill_guard(front, spec.dtype);
  fill_guard(rear, spec.dtype);
  std::vector<GuardDamage> damage;
  append_guard_damage(spec, front, rear, damage);
  EXPECT_TRUE(damage.empty());

  front[guard_bytes - 4] ^= std::byte{1};
  rear[8] ^= std::byte{0x80};
  rear[9] ^= std::byte{0x80};
  append_guard_damage(spec, front, rear, damage);
  ASSERT_EQ(damage.size(), 2u);
  EXPECT_EQ(damage[0].byte_offset, -4);
  EXPECT_EQ(damage[0].bytes, 1);
  EXPECT_EQ(damage[1].byte_offset, 16 + 8);
  EXPECT_EQ(damage[1].bytes, 2);
}

}  // namespace
}  // namespace parity
