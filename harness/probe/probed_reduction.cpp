#include "harness/probe/probed_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace parity {

std::vector<MaskScale> mask_scales(DType input, DType accumulate) {
  const FloatFormat in = format_of(input), sum = format_of(accumulate);
  // A sum of `window` units must be exact in the accumulator, and below half a grid step of an adder that
  // keeps a bit more than the accumulator beside a mask; a tensor core's keeps as much for fp16 sums as for
  // fp32 ones.
  const int exact = std::min(sum.precision - 1, 20);
  const int kept = std::max(sum.precision, 24) + 2;
  const auto fits = [&](int mask, int unit) {
    return std::int64_t{1} << std::clamp(mask - unit - kept, 0, exact);
  };
  std::vector<MaskScale> scales;
  const auto add = [&](int mask, int unit) {
    const std::int64_t window = fits(mask, unit);
    if (window >= 4) scales.push_back({std::ldexp(1.0, mask), std::ldexp(1.0, unit), window});
  };
  const int largest = std::min(in.max_exponent, sum.max_exponent);
  if (largest > 100) {
    add(largest > 1000 ? 900 : 100, 0);
  } else {
    add(largest, std::max(in.min_exponent, sum.min_exponent));  // fp16: 2^15 and 2^-14
    add(largest, in.min_exponent - (in.precision - 1));         // 2^-24, a subnormal
  }
  std::ranges::stable_sort(scales, std::greater<>{}, &MaskScale::window);
  return scales;
}

std::string to_string(const MaskScale& scale) {
  return fmt::format("masks +-2^{}, units 2^{}", std::ilogb(scale.mask), std::ilogb(scale.unit));
}

double value_of_term(const MaskProbe& probe, std::int64_t k, const MaskScale& scale) {
  if (k == probe.plus) return scale.mask;
  if (k == probe.minus) return -scale.mask;
  return k >= probe.first && k < probe.last ? scale.unit : 0;
}

DType widest_store(const Implementation& implementation) {
  return *std::ranges::max_element(implementation.stores, {}, [](DType d) { return format_of(d).precision; });
}

namespace {

constexpr std::array<ProbeOp, 6> ops{{{"gemm", "gemm"},
                                      {"linear", "linear"},
                                      {"reduce", "gradient_reduction"},
                                      {"rms_norm", "rms_norm"},
                                      {"softmax", "softmax_cross_entropy"},
                                      {"attention", "attention"}}};

using Family = Result<std::vector<ProbedReduction>> (*)(Device&, const Implementation&, const ProbeSize&);
constexpr std::array<Family, ops.size()> families{product_reductions, product_reductions,
                                                  column_reductions,  norm_reductions,
                                                  softmax_reductions, attention_reductions};

}  // namespace

std::span<const ProbeOp> probe_ops() {
  return ops;
}

Result<std::vector<ProbedReduction>> probed_reductions(Device& device, const Implementation& implementation,
                                                       const ProbeSize& size) {
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (ops[i].op == implementation.op) return families[i](device, implementation, size);
  return fail(ErrorKind::unsupported,
              fmt::format("the reductions of {} cannot be probed", implementation.op));
}

}  // namespace parity
