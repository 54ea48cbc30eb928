#pragma once
#include <cstdint>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/contract.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// How much several results of the same mathematical tensor differ: repeated runs, permuted reductions, a row
/// computed alone and in its batch, emulated orders (docs/numerics.md, section 6). Recorded, never gating
/// alone.
struct OrderSpread {
  std::int64_t results = 0, elements = 0;
  bool bit_equal = true;              ///< all results have the same bits everywhere (-0 and +0 differ here)
  std::int64_t differing = 0;         ///< elements that have not the same bits in all results
  std::int64_t first_differing = -1;  ///< row-major index
  std::int64_t nonfinite_differing =
      0;  ///< of these: NaN or infinite in a result; left out of the figures below
  /// Range (largest - smallest over the results) of an element, in store ULP at its reference, or at the
  /// first result without a reference: the largest, and the rms over all elements.
  double max_range_ulp = 0, rms_range_ulp = 0;
  /// Standard deviation over the results (divisor results - 1), pooled over elements as rms: in ULP.
  double rms_deviation_ulp = 0;
  /// The same two in units of the predicted sqrt(variance + ulp^2/12 where the store rounds); only elements
  /// with variance > 0 whose systematic part is not larger. 0 without a tracked reference.
  /// rms_deviation_sigma is expected between 0.5 and 2.
  double max_range_sigma = 0, rms_deviation_sigma = 0;
  std::int64_t predicted_elements = 0;  ///< elements behind the sigma figures
};

/// Results of one dtype and one shape each (strides may differ), at least two. `want` (may be null) is the
/// tracked reference of the same size. Error: fewer than two results, sizes or dtypes that differ.
Result<OrderSpread> order_spread(const std::vector<const Tensor*>& results, const Value* want,
                                 const Contract& contract);

}  // namespace parity
