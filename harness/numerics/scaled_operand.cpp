#include "harness/numerics/scaled_operand.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace parity {
namespace {

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

double finite_magnitude(double x) {
  const double magnitude = std::fabs(x);
  return magnitude <= 1.7976931348623157e308 ? magnitude : 0;  // NaN compares false
}

/// Works on the stored array: `outer` lines of `inner` contiguous elements; scales per line or per position.
ScaledOperand scale(const MatrixView<double>& m, bool per_line) {
  const bool by_rows = m.col_stride == 1;
  const std::int64_t outer = by_rows ? m.rows : m.cols;
  const std::int64_t inner = by_rows ? m.cols : m.rows;
  const std::int64_t stride = by_rows ? m.row_stride : m.col_stride;
  const auto n = static_cast<std::size_t>(per_line ? outer : inner);
  std::vector<double> largest(n, 0);
  if (per_line) {
#pragma omp parallel for schedule(static) if (outer * inner > 32768)
    for (std::int64_t i = 0; i < outer; ++i) {
      const double* line = m.data + i * stride;
      double top = 0;
#pragma omp simd reduction(max : top)
      for (std::int64_t j = 0; j < inner; ++j) top = std::max(top, finite_magnitude(line[j]));
      largest[static_cast<std::size_t>(i)] = top;
    }
  } else {
#pragma omp parallel if (outer * inner > 32768)
    {
      std::vector<double> mine(n, 0);
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < outer; ++i) {
        const double* line = m.data + i * stride;
        for (std::int64_t j = 0; j < inner; ++j) {
          mine[static_cast<std::size_t>(j)] =
              std::max(mine[static_cast<std::size_t>(j)], finite_magnitude(line[j]));
        }
      }
#pragma omp critical
      for (std::size_t j = 0; j < n; ++j) largest[j] = std::max(largest[j], mine[j]);
    }
  }
  ScaledOperand out;
  out.rows = m.rows;
  out.cols = m.cols;
  out.row_stride = by_rows ? inner : 1;
  out.col_stride = by_rows ? 1 : inner;
  out.unscale.resize(n);
  std::vector<double> factor(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    // Exponents stay where both 2^e and 2^-e are normal; beyond, magnitudes land outside [1, 2) but inside
    // fp32.
    const int exponent = largest[i] > 0 ? std::clamp(std::ilogb(largest[i]), -1000, 1000) : 0;
    factor[i] = power_of_two(-exponent);
    out.unscale[i] = power_of_two(exponent);
  }
  out.magnitude.resize(static_cast<std::size_t>(outer * inner));
  out.square.resize(static_cast<std::size_t>(outer * inner));
#pragma omp parallel for schedule(static) if (outer * inner > 32768)
  for (std::int64_t i = 0; i < outer; ++i) {
    const double* line = m.data + i * stride;
    float* magnitude = out.magnitude.data() + i * inner;
    float* square = out.square.data() + i * inner;
    const double line_factor = per_line ? factor[static_cast<std::size_t>(i)] : 1;
    for (std::int64_t j = 0; j < inner; ++j) {
      const double by = per_line ? line_factor : factor[static_cast<std::size_t>(j)];
      magnitude[j] = static_cast<float>(finite_magnitude(line[j]) * by);
      square[j] = magnitude[j] * magnitude[j];
    }
  }
  return out;
}

}  // namespace

ScaledOperand scale_rows(const MatrixView<double>& m) {
  return scale(m, m.col_stride == 1);
}
ScaledOperand scale_cols(const MatrixView<double>& m) {
  return scale(m, m.col_stride != 1);
}

ScaledMargin scaled_margin(std::int64_t terms) {
  const double n = static_cast<double>(terms);
  return {std::exp((n + 6) * 1.01 * 0x1p-24), n * 0x1p-142};
}

}  // namespace parity
