#pragma once
#include <cstdint>
#include <memory>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/matrix_product.hpp"

namespace parity {

/// The integer x modulo 2^32 as two's complement has it: in [-2^31, 2^31). |x| < 2^62; what is not finite or
/// larger, which no sum of products of small integers is, becomes 0.
inline double wrapped_i32(double x) {
  if (!(x > -0x1p62 && x < 0x1p62)) return 0;
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::int64_t>(x)));
}

/// c = a b in int32 that wraps around, as an integer unit computes it; c row-major without gaps. The entries
/// of a and b are integers of at most 16 bits. Parallel when called from outside a parallel region.
void integer_matmul(const MatrixView<double>& a, const MatrixView<double>& b, double* c);

/// Arithmetic of models with sums_integers. Its results are known to the bit and carry no bounds. `emulated`:
/// products by integer_matmul; otherwise in fp64, where sums below 2^53 are exact, then modulo 2^32: two ways
/// that share nothing. Elementwise functions and quotients are fp64's.
std::unique_ptr<Arithmetic> make_integer_arithmetic(bool emulated);

}  // namespace parity
