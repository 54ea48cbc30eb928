#pragma once
#include "harness/numerics/arithmetic.hpp"
#include "harness/tensor/tensor.hpp"

namespace parity {

/// What four thresholds in common use would say of a result. Reported beside the verdict, never trusted: they
/// depend on the scale of the data and look away from single elements (docs/numerics.md, section 5).
struct CommonThresholds {
  bool cosine = false;  ///< cosine similarity > 0.999
  bool nmse =
      false;  ///< sum (got - want)^2 / sum want^2 < 5e-4 (the limit of a public test suite for kernels)
  bool assert_close =
      false;  ///< PyTorch's assert_close: |got - want| <= atol + rtol |want|, its defaults by dtype
  bool allclose = false;  ///< the same with rtol = atol = 1e-2
};

/// PyTorch's default tolerances: fp16 1e-3, bf16 1.6e-2, fp32 1.3e-6 (all with atol 1e-5); fp64 1e-7, 1e-7;
/// integers 0, 0.
struct Tolerances {
  double relative = 0, absolute = 0;
};
Tolerances assert_close_defaults(DType dtype);

/// `got` holds want.size() elements. As in those tools the reference is first rounded to the result's dtype
/// (except for cosine and NMSE, which are taken in fp64), and NaN is unequal to everything.
CommonThresholds common_thresholds(const Tensor& got, const Value& want);

}  // namespace parity
