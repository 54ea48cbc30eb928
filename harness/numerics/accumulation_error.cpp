#include "harness/numerics/accumulation_error.hpp"

#include <algorithm>
#include <cmath>

namespace parity {
namespace {

// rms of a rounding to nearest over u |s|: the error is uniform over one spacing 2u 2^floor(log2 |s|), and
// the significand's spread gives 0.41 (numerics.md, section 2).
constexpr double rounding_rms = 0.41;
constexpr std::int64_t most_stretches = 8;

/// (1 + u)^n - 1: the largest relative error of n roundings, for any n.
double compound(double n, double u) {
  return std::expm1(n * std::log1p(u));
}

/// E[s_n^2] for a sum of n of N exchangeable terms with sum D and sum of squares V is on_v V + on_d D^2.
struct SubsetMoment {
  double on_v = 0, on_d = 0;
};
SubsetMoment subset_moment(double n, double total) {
  if (total <= 1) return {0, 1};
  const double pairs = n * (n - 1) / (total * (total - 1));
  return {n / total - pairs, pairs};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : (a + b - 1) / b;
}

/// Stretches of one long chain [begin, end).
void cut_chain(std::vector<Stretch>& out, std::int64_t begin, std::int64_t end, std::int64_t pieces,
               std::int64_t step_terms) {
  std::int64_t length = ceil_div(end - begin, std::max<std::int64_t>(pieces, 1));
  length = std::max<std::int64_t>(ceil_div(length, step_terms) * step_terms, 1);
  for (std::int64_t at = begin; at < end; at += length) {
    Stretch stretch;
    stretch.begin = at;
    stretch.end = std::min(end, at + length);
    stretch.path = static_cast<double>(ceil_div(stretch.end - at, step_terms));
    stretch.steps = stretch.path;
    out.push_back(stretch);
  }
  if (!out.empty()) out.back().ends_part = true;
}

/// `parts` chains of about n terms inside one stretch of N terms: each chain's partial sums are a path from
/// zero to the chain's sum, whose square is a subset moment.
void add_chains(Stretch& stretch, double parts, double step_terms) {
  const double total = static_cast<double>(stretch.end - stretch.begin);
  if (total == 0) return;
  const double n = total / parts;
  const double roundings = std::ceil(n / step_terms);
  const SubsetMoment sum = subset_moment(n, total);
  stretch.difference += parts * roundings * sum.on_d / 3;
  stretch.squares += parts * roundings * (sum.on_v / 3 + (1 / parts) / 6);
}

/// The nodes of a tree over `leaves` sums, `total` terms: at each level nodes cover twice as many terms.
void add_tree(Stretch& stretch, double leaves) {
  const double total = static_cast<double>(stretch.end - stretch.begin);
  for (double nodes = leaves / 2; nodes >= 0.75; nodes /= 2) {
    const double count = std::max(nodes, 1.0);
    const SubsetMoment sum = subset_moment(total / count, total);
    stretch.difference += count * sum.on_d;
    stretch.squares += count * sum.on_v;
  }
}

std::vector<Stretch> cut_into_stretches(const SummationPlan& plan, std::int64_t step_terms) {
  std::vector<Stretch> out;
  const std::int64_t terms = plan.terms();
  const std::int64_t parts = plan.parts();
  if (terms == 0) return out;
  // About 8 stretches, none shorter than 8 steps; long reductions pay a pass over the output for each.
  const std::int64_t pieces = std::clamp<std::int64_t>(terms / (8 * step_terms), 1, most_stretches);
  if (plan.combine != SummationPlan::Combine::sequence) {
    Stretch whole;
    whole.end = terms;
    whole.ends_part = true;
    add_chains(whole, static_cast<double>(std::min(parts, terms)), static_cast<double>(step_terms));
    add_tree(whole, static_cast<double>(std::min(parts, terms)));
    out.push_back(whole);
  } else if (parts <= pieces) {
    for (std::int64_t part = 0; part < parts; ++part) {
      cut_chain(out, plan.begin[static_cast<std::size_t>(part)],
                plan.begin[static_cast<std::size_t>(part) + 1], std::max<std::int64_t>(pieces / parts, 1),
                step_terms);
    }
  } else {
    // Several parts a stretch: the running total is the path, with one rounding for each part.
    const std::int64_t group = ceil_div(parts, pieces);
    for (std::int64_t part = 0; part < parts; part += group) {
      const std::int64_t last = std::min(parts, part + group);
      Stretch stretch;
      stretch.begin = plan.begin[static_cast<std::size_t>(part)];
      stretch.end = plan.begin[static_cast<std::size_t>(last)];
      stretch.path = static_cast<double>(last - part);
      add_chains(stretch, static_cast<double>(last - part), static_cast<double>(step_terms));
      stretch.chains = static_cast<double>(last - part);
      stretch.steps = stretch.chains * std::ceil(static_cast<double>(stretch.end - stretch.begin) /
                                                 stretch.chains / static_cast<double>(step_terms));
      out.push_back(stretch);
    }
    out.back().ends_part = true;
  }
  return out;
}

/// Conversion of inputs to a narrower multiply format: each operand moves by at most u (nearest) or 2u (cut).
void add_conversion(AccumulationError& error, const ArithmeticModel& model) {
  const FloatFormat& multiply = model.precision.multiply;
  if (!is_float(model.precision.input) || multiply.precision >= format_of(model.precision.input).precision)
    return;
  const double u = unit_roundoff(multiply);
  const bool cut = model.multiply_rounding == Rounding::toward_zero;
  const double both = compound(2, cut ? 2 * u : u);
  error.hard_relative = (1 + error.hard_relative) * (1 + both) - 1;
  // Two independent operands; a cut operand's error is spread as widely around its mean.
  error.product_spread += 2 * std::pow(rounding_rms * u, 2);
  if (cut) {
    // Cutting takes between 0 and 2u of each operand, u on average; data of few bits loses nothing.
    error.mean_relative = -2 * u * 0.72;
    error.systematic_relative = 2 * u * 0.72;
  }
}

/// Results below the normal range: half a spacing each, or all of it where it is flushed.
void add_underflow(AccumulationError& error, const ArithmeticModel& model, double operations) {
  const FloatFormat accumulate = format_of(model.precision.accumulate);
  const double eta = smallest_subnormal(accumulate);
  error.hard_absolute += operations * eta;
  error.absolute_variance += operations * eta * eta / 12;
  if (model.denormals == Denormals::preserve) return;
  // Intermediates may be written and read as zero: at most the smallest normal number an operation.
  error.hard_absolute += 2 * operations * smallest_normal(accumulate);
  error.flush_inputs_below = smallest_normal(accumulate);
  // "either": a device that flushes may do so when it widens the inputs, too.
  if (model.denormals == Denormals::either && is_float(model.precision.input)) {
    error.flush_inputs_below =
        std::max(error.flush_inputs_below, smallest_normal(format_of(model.precision.input)));
  }
}

void describe_truncation(AccumulationError& error, const ArithmeticModel& model, int fraction_bits) {
  const int stored = format_of(model.precision.accumulate).precision - 1;
  error.truncates = true;
  error.term_grid = std::ldexp(1.0, -fraction_bits);
  error.term_free_bits = fraction_bits - 2 * (model.precision.multiply.precision - 1);
  const double r = std::ldexp(1.0, fraction_bits - stored);
  error.sum_truncation = r > 1 ? (r - 1) / (2 * r) * 2 * error.unit : 0;
}

}  // namespace

AccumulationError accumulation_error(const ArithmeticModel& model, std::int64_t terms) {
  AccumulationError error;
  const FloatFormat accumulate = format_of(model.precision.accumulate);
  const double u = unit_roundoff(accumulate);
  const double k = static_cast<double>(terms);
  const bool exact_products = 2 * model.precision.multiply.precision <= accumulate.precision;
  error.unit = u;
  error.spread = std::pow(rounding_rms * u, 2);

  if (!model.accumulation) {
    // Any order: K roundings bound every tree with products rounded first, one more is a margin for a loop
    // that starts from a bias or a stored zero. The sequential spread is the widest of the usual orders.
    Stretch whole;
    whole.end = terms;
    whole.path = k;
    whole.ends_part = true;
    error.stretches.push_back(whole);
    error.hard_relative = compound(k + 1, u);
    if (!exact_products) error.product_spread += error.spread;
    if (model.may_truncate) {
      // A truncating adder that keeps at least 23 fraction bits: every product loses at most 2^-23 of the
      // largest magnitude around (at most M), and every step at most 2^-23 for the accumulator and 2^-23 for
      // the sum. A sum of parts adds one rounding for each. exp bounds the product of the steps' factors.
      const double steps = std::ceil(k / std::max(model.adder_terms, 1));
      error.hard_relative = std::max(error.hard_relative, std::expm1(2 * u * (k + 3 * steps)));
      error.stretches.back().steps = steps;
      error.perhaps_truncates = true;
      describe_truncation(error, model, 23);
      error.sum_truncation = u;  // of an adder with many fraction bits: half a spacing
    }
    add_underflow(error, model, 2 * k + 1);
    add_conversion(error, model);
    return error;
  }

  const Accumulation& how = *model.accumulation;
  const auto plan = plan_summation(how.order, terms);
  if (!plan) return error;  // make_tracked_arithmetic documents: orders are checked by check_accumulation
  const bool multi_term = how.multiply_add == MultiplyAdd::multi_term;
  const std::int64_t step_terms = multi_term ? how.adder.terms : 1;
  error.stretches = cut_into_stretches(*plan, step_terms);
  error.combines_parts = plan->parts() > 1 && plan->combine == SummationPlan::Combine::sequence;
  if (plan->combine == SummationPlan::Combine::sequence) error.permutation = plan->permutation;
  const double chain = static_cast<double>(ceil_div(plan->longest_part(), step_terms));
  const double combine = static_cast<double>(plan->combine_depth());
  if (multi_term) {
    // One step moves the sum by at most [(b+1) 2^-F + 2^-23] of the largest magnitude around, itself at most
    // M plus the error so far (2^emax is at most that magnitude: a product's exponent is never above its
    // own).
    const double step = (how.adder.terms + 1) * std::ldexp(1.0, -how.adder.fraction_bits) + 2 * u;
    error.hard_relative = (1 + compound(chain, step)) * (1 + compound(combine, u)) - 1;
    describe_truncation(error, model, how.adder.fraction_bits);
    // Truncation of r values a spacing: (r^2-1)/(12 r^2) spacing^2, 2^(2 floor(log2 |s|)) ~ 0.55 s^2.
    const double r = std::ldexp(1.0, how.adder.fraction_bits - (accumulate.precision - 1));
    error.spread = std::max(r * r - 1, 0.0) / (12 * r * r) * 4 * u * u * 0.55;
  } else {
    const bool rounds_product = how.multiply_add == MultiplyAdd::separate && !exact_products;
    error.hard_relative = compound(chain + combine + (rounds_product ? 1 : 0), u);
    if (rounds_product) error.product_spread += error.spread;
  }
  add_underflow(error, model, 2 * k + combine);
  add_conversion(error, model);
  return error;
}

}  // namespace parity
