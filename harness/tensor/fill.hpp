#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/tensor/random.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// What the inputs of a case are made of. Names as in case text.
enum class Fill : std::uint8_t {
  normal,      ///< N(0,1)
  uniform,     ///< U(-1,1)
  integer,     ///< small integers, thinned so that every partial sum and the store are exact
  selector,    ///< left factor normal, right factor one-hot along the reduction: the output is a copy
  positive,    ///< |N(0,1)|: no cancellation, growing sums, biases show
  cancelling,  ///< the reduction's second half repeats the first with opposite sign, plus a small remainder
  wide,        ///< N(0,1) * 2^e, e spread over the format's comfortable range
  overflow,    ///< results straddle the largest finite number of the store
  subnormal,   ///< inputs and results around and below the smallest normal number
  nan_cone,    ///< normal, with one NaN in one element of one input
  saturated,   ///< magnitudes in (8, 88), either sign: saturated gates, logits at +-80, squares that grow
  rows_equal,  ///< N(0,1) by column, every row alike: ties, equal scores
  zeros,       ///< all zero
};
inline constexpr Fill last_fill = Fill::zeros;
std::string_view name_of(Fill fill);
std::optional<Fill> parse_fill(std::string_view text);

/// A tensor's part in an op, which decides what a fill means for it.
enum class FillRole : std::uint8_t {
  left,    ///< first factor of a product summed over `reduction_axis`
  right,   ///< second factor of that product
  addend,  ///< added to the result (C of a gemm, a bias)
};

struct FillRequest {
  Fill fill = Fill::normal;
  FillRole role = FillRole::left;
  std::uint64_t seed = 1;
  std::uint32_t stream = 0;           ///< the port's number: different streams are independent
  int reduction_axis = -1;            ///< axis summed over; -1 for an addend
  std::int64_t reduction_length = 1;  ///< K
  DType accumulate = DType::f32;
  DType store = DType::f32;
  bool holds_nan = false;  ///< nan_cone: this is the tensor that gets the NaN
};

/// Fills the logical elements; value i depends only on (seed, stream, fill, role, shape, dtypes, i), never on
/// strides, threads or libm: only + - * / and sqrt on fp64 and one rounding into the dtype are used, so the
/// bits are the same on every machine. Pads get the guard poison. No fill but `subnormal` produces a
/// subnormal entry: values below the smallest normal number are moved to it, so that a device that legally
/// flushes subnormals is judged by that fill alone. An i32 tensor takes the values of Fill::integer wherever
/// a fill means real numbers. An i8 tensor uses its whole range:
///  - normal: 40 N(0,1), rounded and cut to -128..127; uniform: any of the 256 values; positive: 1..127;
///  - saturated: every entry is -128 or 127, so that a factor read as unsigned, or a sum of two products kept
///  in
///    16 bits, shows;
///  - overflow: magnitudes of 96 to 128, one sign a line of the reduction: the sums leave 32 bits from
///    K = 2^31 / 112^2 (about 171,000) on, in either direction;
///  - an i32 addend of such a product is any of the 2^32 values under uniform, and within 2^20 of the ends of
///    int32 under overflow, so that short sums leave it too;
///  - wide, subnormal and nan_cone mean nothing for integers (see `suits`).
///
/// What the fills mean exactly, s^2 being a product's scale and K the reduction's length:
///  - cancelling: left[K-K/2+i] = -left[i] moved by 1 to 3 ulp, right[K-K/2+i] = right[i]; the middle of an
///  odd
///    K stays. The addend is of the remainder's size.
///  - wide: N(0,1)*2^e, |e| <= wide_exponent(...), so that neither products nor sums leave the accumulator or
///  store.
///  - overflow: entries of magnitude in (s/2, s). Where the accumulator reaches at least 4 times as far as
///  the store,
///    a result's standard deviation is the store's largest number: about a third overflow. Otherwise the
///    partial sums must stay finite: |sum| < max/2 but for a chance below 1e-13, with results of about
///    max/16, or of up to max/2 for K = 1. s is limited to half the input's own largest number.
///  - subnormal: left entries around and below a smallest normal number, of the input in odd rows and of the
///  store in
///    even rows (where the input reaches that low); right entries of about 1/sqrt(K), one in eight subnormal.
void fill_tensor(Tensor& tensor, const FillRequest& request);

/// Whether a fill means something for factors of `dtype`: integers know no NaN, no subnormal and no
/// exponents.
bool suits(Fill fill, DType dtype);

/// How Fill::integer stays exact: entries are non-zero integers of at most `magnitude`; the left factor has
/// at most `nonzeros` of them along each reduction (one in each of as many blocks), a `density` of
/// nonzeros/K. So, with an addend of at most `magnitude`, |any partial sum| and |result| are at most half of
/// 2^precision of the accumulator and the store, for certain; a factor alpha or beta of 2 still fits.
struct IntegerFill {
  int magnitude;
  double density;
  std::int64_t nonzeros;
};
IntegerFill integer_fill(std::int64_t reduction_length, DType accumulate, DType store, DType input);

/// Largest exponent of Fill::wide.
int wide_exponent(std::int64_t reduction_length, DType accumulate, DType store, DType input);

}  // namespace parity
