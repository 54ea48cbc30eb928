#pragma once
#include "harness/probe/call_runner.hpp"
#include "harness/probe/probed_reduction.hpp"

namespace parity {

/// Where the probes of a product lie: rows of the left factor or columns of the right one, the other factor
/// all ones, so that every sum of a probe is the same sum. Strides in elements of the host's tensors.
struct ProductProbes {
  std::size_t factor = 0;          ///< input that holds the probes; the other one, 1 - factor, the ones
  std::int64_t count = 0;          ///< probes a run
  std::int64_t terms = 0;          ///< K
  std::int64_t answers = 0;        ///< sums of one probe, which must agree
  std::int64_t probe_stride = 0;   ///< in the factor, from one probe to the next
  std::int64_t term_stride = 0;    ///< in the factor, from one term to the next
  std::int64_t result_stride = 0;  ///< in the result, from one probe's sums to the next one's
  std::int64_t answer_stride = 0;  ///< in the result, from one sum of a probe to the next
};

MaskOracle product_oracle(const CallRunner& loaded, const ProductProbes& probes, const MaskScale& scale);

}  // namespace parity
