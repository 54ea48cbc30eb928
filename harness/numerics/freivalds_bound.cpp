#include "harness/numerics/freivalds_bound.hpp"
#include "harness/numerics/binade_means.hpp"

#include <algorithm>
#include <cmath>

namespace parity {
namespace {

constexpr double kurtosis = 3;  // E[y^4] / E[y^2]^2 of a Gaussian: sizes and counts go together

double square(double x) {
  return x * x;
}

/// Roundings of one fp64 sum of n numbers in chunks of 256.
double sum_roundings(double n) {
  return std::min(n, 256 + n / 256) + 8;
}

/// Mean squared loss of truncating adders, over the row: see truncation_loss() in stretch_rounding.cpp, here
/// averaged over columns. S2 sums y^2, V sums squared products of K terms.
double truncation(const AccumulationError& error, double steps, double terms, double s2, double v,
                  double one_sided) {
  if (!error.truncates || terms == 0) return 0;
  const double each = square(error.unit * steps);
  // Each step cuts the sum: u 2^floor(log2 |s|) on average, along a line from 0 to y with noise around it.
  const double sums = each * (square(binade_mean / 2) * s2 + binade_square * v / 12 + 0.021 * s2 / 3);
  const double top = std::max(1.7, 0.55 * terms / std::max(steps, 1.0));
  const double q2 = kurtosis * square(binade_mean / 2) * s2 + binade_square * v / 6 + top * v / terms;
  const double products = square(0.5 * error.term_grid * terms) * one_sided * q2;
  const double noise = square(error.term_grid) * q2 * terms / 3;
  // Two losses toward zero add up before they are squared.
  return square(std::sqrt(sums) + std::sqrt(products)) + noise;
}

}  // namespace

Result<ResidualBound> ResidualBound::derive(const ArithmeticModel& model, const Contract& contract,
                                            const ResidualForm& form) {
  if (model.precision.accumulate == DType::f64)
    return fail(ErrorKind::unsupported,
                "Freivalds' check sums in fp64, which says nothing of an fp64 accumulator; use the full "
                "reference");
  ResidualBound bound;
  bound.error_ = accumulation_error(model, form.terms);
  bound.contract_ = contract;
  bound.form_ = form;
  const FloatFormat accumulate = format_of(model.precision.accumulate);
  const FloatFormat scratch = format_of(model.precision.scratch);
  bound.unit_ = std::max(unit_roundoff(accumulate), unit_roundoff(scratch));
  bound.final_rounding_ = scratch.precision < accumulate.precision ? 1 : 0;
  for (const Stretch& stretch : bound.error_.stretches) {
    bound.path_ += stretch.path;
    bound.steps_ += stretch.steps;
    if (stretch.ends_part) bound.path_ += 1;
  }
  return bound;
}

double ResidualBound::smallest_input() const {
  return contract_.exact ? 0 : std::max(error_.flush_inputs_below, error_.unnormalised_below);
}

ResidualSpread ResidualBound::of(const ResidualSums& sums, double path_factor) const {
  ResidualSpread out;
  const double alpha = std::fabs(form_.alpha), beta = std::fabs(form_.beta);
  const double terms = static_cast<double>(form_.terms);
  const double product = alpha * sums.magnitudes, addend = beta * sums.addend_magnitudes;
  const double by_column = sum_roundings(sums.columns), by_term = sum_roundings(terms);
  out.reference = 0x1p-53 * (by_column * (sums.result_magnitudes + addend + product) + by_term * product);
  if (contract_.exact) return out;

  // The products' sums y = (d - beta c) / alpha, as large as they may be.
  const double v = sums.squares;
  const double s2 =
      alpha > 0 ? square((std::sqrt(sums.result_squares) + beta * std::sqrt(sums.addend_squares)) / alpha)
                : v;
  const double energy = path_factor * (s2 / 3 + v / 6);
  double variance = error_.spread * binade_square * path_ * energy + error_.product_spread * v;
  for (const Stretch& stretch : error_.stretches) {
    const double share = terms > 0 ? static_cast<double>(stretch.end - stretch.begin) / terms : 0;
    const double stretch_energy = share * share * s2 + share * v;
    variance += error_.spread * binade_square *
                ((stretch.difference + stretch.tree) * stretch_energy + stretch.squares * share * v);
  }
  variance += square(std::fabs(error_.mean_relative) + error_.systematic_relative) * s2;
  variance += sums.columns * (error_.absolute_variance + square(error_.systematic_absolute));
  // sum_j (y_j / M_j)^2, at most: the share of products that one sign has more than the other.
  const double one_sided =
      sums.magnitudes > 0 ? std::min(1.0, sums.columns * s2 / square(sums.magnitudes)) : 0;
  variance += truncation(error_, steps_, terms, s2, v, one_sided);
  variance *= alpha * alpha;
  const double rounding = unit_ * unit_ / 3 * binade_square;
  if (alpha != 1) variance += rounding * alpha * alpha * s2;
  if (form_.adds)
    variance +=
        rounding * (beta == 1 ? 0 : beta * beta * sums.addend_squares) + rounding * sums.result_squares;
  variance += final_rounding_ * rounding * sums.result_squares;
  out.accumulation = variance;

  // The product's own bound, then at most four roundings of what has the size of the products and the addend.
  const double grown =
      alpha * ((1 + error_.hard_relative) * sums.magnitudes + sums.columns * error_.hard_absolute) + addend;
  out.hard = alpha * (error_.hard_relative * sums.magnitudes + sums.columns * error_.hard_absolute) +
             std::expm1(4 * unit_) * grown;
  if (contract_.store_rounds) {
    const bool nearest = contract_.store_rounding_known && contract_.store_rounding == Rounding::nearest_even;
    out.store = sums.ulp_squares / (nearest ? 12 : 3);
    // Few or equal elements: each may be off by the whole half spacing, three times the mean square.
    out.store *= nearest ? std::min(3.0, 1 + 6 / std::sqrt(std::max(sums.columns, 1.0)))
                         : std::min(3.0, 1 + 3 / std::sqrt(std::max(sums.columns, 1.0)));
    out.hard += std::sqrt(sums.columns * sums.ulp_squares) * (nearest ? 0.5 : 1);
  }
  return out;
}

double ResidualBound::threshold(const ResidualSpread& spread, double residuals) const {
  const double lambda = std::sqrt(2 * std::log(2 * std::max(residuals, 1.0) / contract_.alpha));
  const double variance = aggregate_inflation(contract_).spread * spread.accumulation + spread.store;
  return std::min(lambda * std::sqrt(variance), spread.hard) + spread.reference;
}

double ResidualBound::element_bound(const ResidualSpread& spread, const ResidualSums& sums,
                                    std::int64_t elements) const {
  if (sums.columns == 0) return 0;
  const double ulp = contract_.store_rounds ? std::sqrt(sums.ulp_squares / sums.columns) : 0;
  return spread_multiplier(elements, contract_) * std::sqrt(spread.accumulation / sums.columns) + ulp / 2;
}

}  // namespace parity
