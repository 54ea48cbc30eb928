// What a scan says of a few elements that are known.
#include "harness/tensor/tensor_scan.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

Tensor of(DType dtype, const std::vector<double>& values) {
  Tensor tensor = *Tensor::create(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set_value(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

TEST(TensorScan, CountsWhatIsNotFinite) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Tensor x = of(dtype, {1, -3, inf, 2, nan, -inf, 0});
    x.set_bits(3, poison_bits(dtype, Poison::unwritten));
    const TensorScan scan = scan_tensor(x);
    EXPECT_EQ(scan.nan, 2);
    EXPECT_EQ(scan.infinite, 2);
    EXPECT_EQ(scan.first_nonfinite, 2);
    EXPECT_EQ(scan.unwritten, 1);
    EXPECT_EQ(scan.largest, 3.0F);
  }
}

TEST(TensorScan, OfIntegersSaysTheLargestCutOffToFp32) {
  const auto largest = [](double x) { return scan_tensor(of(DType::i32, {0, x, 0})).largest; };
  EXPECT_EQ(largest(0), 0.0F);
  EXPECT_EQ(largest(-1), 1.0F);
  EXPECT_EQ(largest(0xffffff), 16777215.0F);
  EXPECT_EQ(largest(0x1000001), 16777216.0F);
  EXPECT_EQ(largest(0x1ffffff), 33554430.0F);  // to nearest it would be 33554432
  EXPECT_EQ(largest(2147483647), 2147483520.0F);
  EXPECT_EQ(largest(-2147483648.0), 2147483648.0F);
  Tensor x = of(DType::i32, {5, 6});
  x.set_bits(1, poison_bits(DType::i32, Poison::unwritten));
  EXPECT_EQ(scan_tensor(x).unwritten, 1);
  EXPECT_EQ(scan_tensor(x).nonfinite(), 0);

  Tensor bytes = of(DType::i8, {5, -128});
  EXPECT_EQ(scan_tensor(bytes).largest, 128.0F);
  // A usual int8, whatever its bits mean elsewhere.
  bytes.set_bits(0, poison_bits(DType::i8, Poison::unwritten));
  EXPECT_EQ(scan_tensor(bytes).unwritten, 0);
}

TEST(TensorScan, HashesTellEqualElementsInOtherPlacesApart) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8}) {
    EXPECT_EQ(scan_tensor(of(dtype, {1, 2, 3})), scan_tensor(of(dtype, {1, 2, 3})));
    EXPECT_NE(scan_tensor(of(dtype, {1, 2, 3})).hash, scan_tensor(of(dtype, {2, 1, 3})).hash);
    EXPECT_NE(scan_tensor(of(dtype, {1, 2, 3})).hash, scan_tensor(of(dtype, {1, 2, 4})).hash);
  }
}

}  // namespace
}  // namespace parity
