#include "backends/cuda/strided_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace parity::cuda {
namespace {

/// Copies as cudaMemcpy2D would, and compares element by element.
void expect_copied(const Shape& shape, const Strides& from_strides, const Strides& to_strides) {
  SCOPED_TRACE(to_string(shape));
  Tensor from = *Tensor::create(DType::i32, shape, from_strides);
  Tensor to = *Tensor::create(DType::i32, shape, to_strides);
  const auto words = from.as<std::int32_t>();
  std::iota(words.begin(), words.end(), 100);
  for (const RowsCopy& c : plan_copies(shape, from_strides, to_strides, 4))
    for (std::size_t row = 0; row < c.height; ++row)
      std::memcpy(to.bytes().subspan(c.to + row * c.to_pitch, c.width).data(),
                  from.bytes().subspan(c.from + row * c.from_pitch, c.width).data(), c.width);
  std::int64_t copied = 0;
  for (std::int64_t i = 0; i < from.elements(); ++i) EXPECT_EQ(to.bits(i), from.bits(i)) << i;
  for (const std::int32_t word : to.as<std::int32_t>()) copied += word != 0;
  EXPECT_EQ(copied, from.elements()) << "something between the elements was written";
}

TEST(PlanCopies, BringEveryElementAndNothingElse) {
  expect_copied({7}, {1}, {1});
  expect_copied({7}, {3}, {1});
  expect_copied({7}, {64}, {64});
  expect_copied({4, 5}, {5, 1}, {5, 1});
  expect_copied({4, 5}, {9, 1}, {6, 1});
  expect_copied({4, 1}, {9, 1}, {1, 1});
  expect_copied({1, 5}, {9, 1}, {5, 1});
  expect_copied({3, 4, 5}, {40, 8, 1}, {20, 5, 1});
  expect_copied({3, 4, 5}, {44, 9, 1}, {70, 13, 2});
  expect_copied({1, 1}, {1, 1}, {1, 1});
}

TEST(PlanCopies, AreFewWhereRunsMeet) {
  EXPECT_EQ(plan_copies({6, 7, 8}, {56, 8, 1}, {56, 8, 1}, 4).size(), 1U);
  EXPECT_EQ(plan_copies({6, 7, 8}, {56, 8, 1}, {56, 8, 1}, 4)[0].height, 1U);
  EXPECT_EQ(plan_copies({6, 7, 8}, {70, 10, 1}, {70, 10, 1}, 4).size(), 1U);
  EXPECT_TRUE(plan_copies({0, 8}, {8, 1}, {8, 1}, 4).empty());
}

}  // namespace
}  // namespace parity::cuda
