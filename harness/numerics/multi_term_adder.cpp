#include "harness/numerics/multi_term_adder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "harness/numerics/format_rounding.hpp"
#include "harness/numerics/lane_operand.hpp"
#include "harness/numerics/packed_panels.hpp"

namespace parity {
namespace {

constexpr int columns = 16;             // output columns worked on at once
constexpr std::int64_t row_chunk = 64;  // rows per task; their accumulators stay in cache
constexpr int zero_exponent = -100000;  // of an operand that is zero: never the largest
constexpr int lowest_exponent = -600;   // below any product of two fp32 numbers

/// A number as significand and exponent: in [1, 2), or below 1 for a subnormal, which keeps the exponent of
/// the smallest normal number; the hardware does not normalise it.
struct Split {
  float significand = 0;
  std::int32_t exponent = zero_exponent;
};

double power_of_two(int exponent) {  // -1022 .. 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

Split split(double x, int min_exponent) {  // at least 2^-149: a normal fp64 number
  if (x == 0 || !std::isfinite(x)) return {};
  const int biased = static_cast<int>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7ff);
  const int exponent = std::max(biased - 1023, min_exponent);
  return {static_cast<float>(x * power_of_two(-exponent)), exponent};
}

struct Operands {
  PackedPanels<float, 1> a_significand;
  PackedPanels<std::int32_t, 1> a_exponent;
  PackedPanels<float, columns> b_significand;
  PackedPanels<std::int32_t, columns> b_exponent;
};

/// Products whose significands have at most 24 bits, so that fp32 holds them, and whose aligned sum fits 31
/// bits.
bool fits_integers(const MultiTermAdder& adder, int multiply_precision) {
  return multiply_precision <= 12 && adder.fraction_bits + 2 <= 30 &&
         static_cast<std::int64_t>(adder.terms) << (adder.fraction_bits + 2) <= (std::int64_t{1} << 31);
}

/// One step over `terms` products for 16 columns, in 32-bit integers. |significand product| < 4, so an
/// aligned term is below 2^(fraction_bits + 2) and the caller's check keeps the sum below 2^31.
inline void integer_step(const AdderArithmetic& how, const float* sa, const std::int32_t* ea, const float* sb,
                         const std::int32_t* eb, std::int64_t terms, double* __restrict accumulator) {
  const int fraction_bits = how.adder.fraction_bits;
  std::int32_t emax[columns];
  std::int32_t sum[columns];
  for (int c = 0; c < columns; ++c) {
    emax[c] = std::max(lowest_exponent, how.exponent_of_sum(accumulator[c]));
    sum[c] = 0;
  }
  for (std::int64_t t = 0; t < terms; ++t) {
    for (int c = 0; c < columns; ++c) emax[c] = std::max(emax[c], ea[t] + eb[t * columns + c]);
  }
  for (std::int64_t t = 0; t < terms; ++t) {
    for (int c = 0; c < columns; ++c) {
      // 2^(exponent - emax + F) as fp32 bits; a biased exponent below 1 is a scale of zero, far below one
      // grid step.
      const std::int32_t biased = std::max(ea[t] + eb[t * columns + c] - emax[c] + (fraction_bits + 127), 0);
      const float scale = std::bit_cast<float>(biased << 23);
      sum[c] += static_cast<std::int32_t>(sa[t] * sb[t * columns + c] * scale);  // toward zero
    }
  }
  for (int c = 0; c < columns; ++c) {
    const double aligned = std::trunc(accumulator[c] * power_of_two(fraction_bits - emax[c]));
    accumulator[c] = how.rounded(aligned + static_cast<double>(sum[c]), emax[c]);
  }
}

/// The same in fp64, for any adder: terms are integers below 2^(fraction_bits + 2), their sum is exact below
/// 2^53.
inline void general_step(const AdderArithmetic& how, const float* sa, const std::int32_t* ea, const float* sb,
                         const std::int32_t* eb, std::int64_t terms, double* __restrict accumulator) {
  const int fraction_bits = how.adder.fraction_bits;
  for (int c = 0; c < columns; ++c) {
    int emax = std::max(lowest_exponent, how.exponent_of_sum(accumulator[c]));
    for (std::int64_t t = 0; t < terms; ++t) emax = std::max(emax, ea[t] + eb[t * columns + c]);
    double sum = std::trunc(accumulator[c] * power_of_two(fraction_bits - emax));
    for (std::int64_t t = 0; t < terms; ++t) {
      const int shift = ea[t] + eb[t * columns + c] - emax + fraction_bits;
      if (shift < -2) continue;  // below one grid step
      sum += std::trunc(static_cast<double>(sa[t]) * sb[t * columns + c] * power_of_two(shift));
    }
    accumulator[c] = how.rounded(sum, emax);
  }
}

/// A part's sum joins those before it.
double joined(const AdderArithmetic& how, const SummationPlan& plan, double total, double part) {
  return plan.parts() == 1 ? part : how.added(total, part);
}

/// Rows [row, row + rows) x one panel of columns.
template <bool Integer>
void compute_tile(const AdderArithmetic& how, const SummationPlan& plan, const Operands& operands,
                  std::int64_t row, std::int64_t rows, std::int64_t panel, double* total) {
  const MultiTermAdder& adder = how.adder;
  std::array<double, row_chunk * columns> chain;
  const float* sb = operands.b_significand.panel(panel);
  const std::int32_t* eb = operands.b_exponent.panel(panel);
  const std::int64_t block = 16 * adder.terms;  // keeps the panel's slice in the first-level cache
  for (std::int64_t part = 0; part < plan.parts(); ++part) {
    const std::int64_t end = plan.begin[static_cast<std::size_t>(part) + 1];
    chain.fill(0);
    for (std::int64_t first = plan.begin[static_cast<std::size_t>(part)]; first < end; first += block) {
      const std::int64_t last = std::min(end, first + block);
      for (std::int64_t r = 0; r < rows; ++r) {
        const float* sa = operands.a_significand.panel(row + r);
        const std::int32_t* ea = operands.a_exponent.panel(row + r);
        for (std::int64_t k = first; k < last; k += adder.terms) {
          const std::int64_t terms = std::min<std::int64_t>(adder.terms, last - k);
          const auto step = Integer ? integer_step : general_step;
          step(how, sa + k, ea + k, sb + k * columns, eb + k * columns, terms, chain.data() + r * columns);
        }
      }
    }
    for (std::int64_t i = 0; i < rows * columns; ++i)
      total[i] = joined(how, plan, total[i], chain[static_cast<std::size_t>(i)]);
  }
}

/// The same over lanes.
void compute_lanes(const AdderLanes& lanes, const AdderSteps& steps, const AdderArithmetic& how,
                   const SummationPlan& plan, const LaneOperand& a, const LaneOperand& b, std::int64_t row,
                   std::int64_t rows, std::int64_t panel, double* total) {
  std::vector<float> chain(static_cast<std::size_t>(rows * lanes.columns));
  const AdderRow right = b.panel(panel);
  const std::int64_t block = std::max<std::int64_t>(1, 4096 / (lanes.columns * steps.terms)) * steps.terms;
  for (std::int64_t part = 0; part < plan.parts(); ++part) {
    const std::int64_t end = plan.begin[static_cast<std::size_t>(part) + 1];
    std::ranges::fill(chain, 0.0f);
    for (std::int64_t first = plan.begin[static_cast<std::size_t>(part)]; first < end; first += block) {
      const AdderRow left = a.panel(row);
      lanes.chain(steps, {left.value + first, left.exponent + first}, a.depth,
                  {right.value + first * lanes.columns, right.exponent + first * lanes.columns},
                  std::min(block, end - first), rows, chain.data());
    }
    for (std::size_t i = 0; i < chain.size(); ++i)
      total[i] = joined(how, plan, total[i], static_cast<double>(chain[i]));
  }
}

std::vector<char> rows_with_special_values(const MatrixView<double>& m) {
  std::vector<char> special(static_cast<std::size_t>(m.rows), 0);
#pragma omp parallel for schedule(static) if (m.rows * m.cols > 32768)
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t k = 0; k < m.cols; ++k) {
      if (!std::isfinite(m(i, k))) special[static_cast<std::size_t>(i)] = 1;
    }
  }
  return special;
}

}  // namespace

AdderArithmetic AdderArithmetic::of(const ArithmeticModel& model) {
  return {model.accumulation->adder, model.precision.multiply, model.precision.accumulate,
          model.denormals == Denormals::flush};
}

int AdderArithmetic::exponent_of_sum(double sum) const {
  const int exponent = static_cast<int>((std::bit_cast<std::uint64_t>(sum) >> 52) & 0x7ff) - 1023;
  return exponent == -1023 ? zero_exponent : std::max(exponent, accumulate == DType::f16 ? -14 : -126);
}

double AdderArithmetic::rounded(double sum, int emax) const {
  const double x = sum * power_of_two(emax - adder.fraction_bits);  // exact
  const bool cut = adder.rounding == Rounding::toward_zero;
  if (accumulate == DType::f16) {
    const double result = cut ? round_to(format_of(DType::f16), x, Rounding::toward_zero) : round_to_f16(x);
    return flush && std::fabs(result) < 0x1p-14 ? std::copysign(0.0, result) : result;
  }
  const double result = cut ? truncate_to_f32(x) : static_cast<float>(x);
  return flush && std::fabs(result) < 0x1p-126 ? std::copysign(0.0, result) : result;
}

double AdderArithmetic::added(double x, double y) const {
  // An exact sum of two fp32 numbers rounded by way of fp64 is rounded once.
  if (accumulate == DType::f16) return flush ? round_to_f16<true>(x + y) : round_to_f16(x + y);
  const double sum = static_cast<float>(x + y);
  return flush && std::fabs(sum) < 0x1p-126 ? std::copysign(0.0, sum) : sum;
}

void patch_special_values(const MatrixView<double>& a, const MatrixView<double>& b, double* c) {
  const std::vector<char> special_a = rows_with_special_values(a);
  const std::vector<char> special_b = rows_with_special_values(transposed(b));
#pragma omp parallel for schedule(dynamic) if (worth_threads(a.rows, b.cols, a.cols))
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.cols; ++j) {
      if (!special_a[static_cast<std::size_t>(i)] && !special_b[static_cast<std::size_t>(j)]) continue;
      double sum = 0;
      for (std::int64_t k = 0; k < a.cols; ++k) sum += a(i, k) * b(k, j);
      c[i * b.cols + j] = sum;
    }
  }
}

double multi_term_sum(const AdderArithmetic& how, std::span<const double> a, std::span<const double> b,
                      std::span<const double> sums) {
  const int min_exponent = how.multiply.min_exponent, fraction_bits = how.adder.fraction_bits;
  double ieee = 0;  // says which of NaN, Inf and -Inf it is, if any
  int emax = lowest_exponent;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ieee += a[i] * b[i];
    emax = std::max(emax, split(a[i], min_exponent).exponent + split(b[i], min_exponent).exponent);
  }
  for (const double sum : sums) {
    ieee += sum;
    emax = std::max(emax, how.exponent_of_sum(sum));
  }
  if (!std::isfinite(ieee)) return ieee;
  double aligned = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Split x = split(a[i], min_exponent), y = split(b[i], min_exponent);
    const int shift = x.exponent + y.exponent - emax + fraction_bits;
    if (shift < -2) continue;  // below one grid step
    aligned += std::trunc(static_cast<double>(x.significand) * static_cast<double>(y.significand) *
                          power_of_two(shift));
  }
  for (const double sum : sums) aligned += std::trunc(sum * power_of_two(fraction_bits - emax));
  return how.rounded(aligned, emax);
}

bool multi_term_lanes(const AdderLanes& lanes, const AdderArithmetic& how, const SummationPlan& plan,
                      const MatrixView<double>& a, const MatrixView<double>& b, double* c) {
  if (!how.suits_lanes()) return false;
  const MultiTermAdder& adder = how.adder;
  const FloatFormat& multiply = how.multiply;
  AdderSteps steps{adder.terms, adder.fraction_bits, 0};
  if (!adder_lanes_fit(steps, multiply.precision, 0, 0, a.cols)) return false;
  const LaneOperand left = pack_lanes(a, plan.permutation, 1, multiply.min_exponent);
  const LaneOperand right = pack_lanes(transposed(b), plan.permutation, lanes.columns, multiply.min_exponent);
  const int smallest = left.smallest + right.smallest;
  if (!adder_lanes_fit(steps, multiply.precision, smallest, left.largest + right.largest, a.cols))
    return false;
  steps.floor_exponent = smallest - adder.fraction_bits;
  const std::int64_t chunks = (a.rows + row_chunk - 1) / row_chunk;
  const std::int64_t panels = right.panels();
#pragma omp parallel for collapse(2) schedule(dynamic) if (worth_threads(a.rows, b.cols, a.cols))
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t row = chunk * row_chunk, first = panel * lanes.columns;
      const std::int64_t rows = std::min(row_chunk, a.rows - row);
      std::vector<double> total(static_cast<std::size_t>(rows * lanes.columns));
      compute_lanes(lanes, steps, how, plan, left, right, row, rows, panel, total.data());
      const std::int64_t width = std::min<std::int64_t>(lanes.columns, b.cols - first);
      for (std::int64_t r = 0; r < rows; ++r)
        std::copy_n(total.data() + r * lanes.columns, width, c + (row + r) * b.cols + first);
    }
  }
  patch_special_values(a, b, c);
  return true;
}

void multi_term_matmul(const AdderArithmetic& how, const SummationPlan& plan, const MatrixView<double>& a,
                       const MatrixView<double>& b, double* c) {
  if (multi_term_lanes(adder_lanes(), how, plan, a, b, c)) return;
  multi_term_reference(how, plan, a, b, c);
}

void multi_term_reference(const AdderArithmetic& how, const SummationPlan& plan, const MatrixView<double>& a,
                          const MatrixView<double>& b, double* c) {
  const FloatFormat& multiply = how.multiply;
  const auto significand = [&](double x) { return split(x, multiply.min_exponent).significand; };
  const auto exponent = [&](double x) { return split(x, multiply.min_exponent).exponent; };
  const MatrixView<double> bt = transposed(b);
  const Operands operands{pack_rows<float, 1>(a, plan.permutation, significand),
                          pack_rows<std::int32_t, 1>(a, plan.permutation, exponent),
                          pack_rows<float, columns>(bt, plan.permutation, significand),
                          pack_rows<std::int32_t, columns>(bt, plan.permutation, exponent)};
  const bool integer = fits_integers(how.adder, multiply.precision);
  const std::int64_t chunks = (a.rows + row_chunk - 1) / row_chunk;
  const std::int64_t panels = operands.b_significand.panels();
#pragma omp parallel for collapse(2) schedule(dynamic) if (worth_threads(a.rows, b.cols, a.cols))
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t row = chunk * row_chunk;
      const std::int64_t rows = std::min(row_chunk, a.rows - row);
      std::array<double, row_chunk * columns> total{};
      const auto compute = integer ? compute_tile<true> : compute_tile<false>;
      compute(how, plan, operands, row, rows, panel, total.data());
      const std::int64_t width = std::min<std::int64_t>(columns, b.cols - panel * columns);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy_n(total.data() + r * columns, width, c + (row + r) * b.cols + panel * columns);
      }
    }
  }
  patch_special_values(a, b, c);
}

}  // namespace parity
