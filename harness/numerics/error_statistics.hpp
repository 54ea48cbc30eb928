#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/contract.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// One element worth showing.
struct WorstElement {
  std::int64_t index = 0;  ///< row-major in [batch, rows, cols]
  std::int64_t batch = 0, row = 0, col = 0;
  double got = 0, want = 0, bound = 0;  ///< bound: the expected-spread limit E around want + mean
  double ratio = 0;                     ///< |got - want - mean| over that limit (infinite for a NaN)
  std::uint64_t got_bits = 0;
};

/// What was measured over one output tensor; recorded for passes too. NaN and Inf are counted and left out of
/// the sums. Definitions in docs/numerics.md, section 5.5.
struct ErrorStatistics {
  std::int64_t elements = 0;
  std::int64_t nan = 0, inf = 0;          ///< in the result
  std::int64_t unexpected_nonfinite = 0;  ///< where the reference is finite and its bound stays in range
  std::int64_t missing_nan = 0;           ///< reference NaN, result not
  std::int64_t unwritten = 0;             ///< elements that still hold the poison
  std::int64_t zeros_want = 0;            ///< reference elements that are exactly zero
  double max_abs = 0, mean_abs = 0, mean_signed = 0, rms = 0;
  double max_relative = 0;  ///< over elements with |want| > 0
  double relative_l2 = 0, norm_ratio = 0, nmse = 0;
  double cosine = 1, cosine_worst_row = 1;
  double max_bound_ratio = 0;             ///< worst |err - mean| / E
  double max_hard_ratio = 0;              ///< worst |err| / hard
  std::int64_t outside_spread = 0;        ///< elements outside E
  std::int64_t outside_hard = 0;          ///< elements beyond the hard bound
  std::array<double, 5> ulp_quantiles{};  ///< 50, 90, 99, 99.9, 100 % of |err| in store ULP at want
  /// Histogram of |err| in store ULP: bin 0 holds 0, bin i holds [2^(i-17), 2^(i-16)) for i in 1..48
  /// (the last bin everything above).
  std::array<std::int64_t, 49> ulp_histogram{};
  std::vector<WorstElement> worst;  ///< up to 8, by ratio; equal ratios by index
};

/// Measures `got` (any strides; want.size() logical elements in row-major order) against `want` in one
/// parallel pass. Absent arrays of `want` count as zero. The figures do not depend on the number of threads.
/// relative_l2, nmse and norm_ratio are infinite where only the reference is zero. cosine_worst_row looks at
/// rows of four elements and more. Quantiles come from the histogram (logarithmic interpolation inside a bin;
/// the 100 % one is exact); bin 1 also holds everything smaller than its lower edge.
ErrorStatistics compute_statistics(const Tensor& got, const Value& want, const Contract& contract);

}  // namespace parity
