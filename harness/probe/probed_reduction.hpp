#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/numerics/reveal_tree.hpp"

namespace parity {

/// How masks and units are made for one format: the terms' values, and how many units may be in one probe so
/// that their sum is exact and is lost beside a mask.
struct MaskScale {
  double mask = 0, unit = 0;
  std::int64_t window = 0;
};
/// Scales for sums of products of numbers in `input` with 1, accumulated in `accumulate`: the first that
/// works on a device is taken. Later ones avoid subnormals, at the price of more probes.
std::vector<MaskScale> mask_scales(DType input, DType accumulate);
/// "masks +-2^100, units 2^0"
std::string to_string(const MaskScale& scale);

/// The value of term k of a probe.
double value_of_term(const MaskProbe& probe, std::int64_t k, const MaskScale& scale);
/// An oracle's answer that fits no tree: places that should have agreed did not, or no count of units came
/// out.
inline constexpr double no_sum = std::numeric_limits<double>::quiet_NaN();

/// One reduction of one implementation, as something that can be asked.
struct ProbedReduction {
  std::string name;  ///< "sum over k of A B"
  std::int64_t terms = 0;
  std::string method;                                 ///< how it is asked, for the record
  std::vector<MaskScale> scales;                      ///< with `masks`
  std::function<MaskOracle(const MaskScale&)> masks;  ///< terms of either sign
  ThresholdOracle thresholds;                         ///< positive terms; instead of `masks`
  std::string cannot;  ///< why it cannot be asked at all; then neither of the two is there
};

/// What is asked of an implementation: K terms a reduction, and how many rows of probes go in one run.
struct ProbeSize {
  std::int64_t terms = 64;
  std::int64_t rows = 128;
  std::int64_t cols = 16;  ///< of a product: columns of ones, which must agree
};

/// The reductions of an implementation of one of probe_ops(), loaded on the device. Errors: the path cannot
/// take the call, or the device failed.
Result<std::vector<ProbedReduction>> probed_reductions(Device& device, const Implementation& implementation,
                                                       const ProbeSize& size);

/// Names that --op takes, and the op each stands for: {"gemm", "gemm"}, {"reduce", "gradient_reduction"}, ...
struct ProbeOp {
  std::string_view name, op;
};
std::span<const ProbeOp> probe_ops();

// One family each, in files of their own.
Result<std::vector<ProbedReduction>> product_reductions(Device&, const Implementation&, const ProbeSize&);
Result<std::vector<ProbedReduction>> column_reductions(Device&, const Implementation&, const ProbeSize&);
Result<std::vector<ProbedReduction>> norm_reductions(Device&, const Implementation&, const ProbeSize&);
Result<std::vector<ProbedReduction>> softmax_reductions(Device&, const Implementation&, const ProbeSize&);
Result<std::vector<ProbedReduction>> attention_reductions(Device&, const Implementation&, const ProbeSize&);

/// The store dtype that shows most of the accumulator.
DType widest_store(const Implementation& implementation);

}  // namespace parity
