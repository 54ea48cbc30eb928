#include "harness/numerics/common_thresholds.hpp"

#include <cmath>

#include "harness/tensor/convert.hpp"

namespace parity {

Tolerances assert_close_defaults(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {1e-7, 1e-7};
    case DType::f32:
      return {1.3e-6, 1e-5};
    case DType::f16:
      return {1e-3, 1e-5};
    case DType::bf16:
      return {1.6e-2, 1e-5};
    case DType::i32:
    case DType::i8:
      return {0, 0};
  }
  return {0, 0};
}

CommonThresholds common_thresholds(const Tensor& got, const Value& want) {
  const Tolerances usual = assert_close_defaults(got.dtype());
  const FloatFormat format = format_of(got.dtype());
  const bool floating = is_float(got.dtype());
  const auto close = [](double g, double w, Tolerances t) {
    return g == w || std::fabs(g - w) <= t.absolute + t.relative * std::fabs(w);
  };
  double product = 0, got_square = 0, want_square = 0, error_square = 0;
  CommonThresholds result{.cosine = false, .nmse = false, .assert_close = true, .allclose = true};
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const double g = got.value(i), exact = want.v[static_cast<std::size_t>(i)];
    const double w = floating ? round_to(format, exact) : exact;
    product += g * exact;
    got_square += g * g;
    want_square += exact * exact;
    error_square += (g - exact) * (g - exact);
    result.assert_close = result.assert_close && close(g, w, usual);
    result.allclose = result.allclose && close(g, w, {1e-2, 1e-2});
  }
  result.cosine = product > 0.999 * std::sqrt(got_square) * std::sqrt(want_square) || error_square == 0;
  result.nmse = error_square < 5e-4 * want_square || error_square == 0;
  return result;
}

}  // namespace parity
