#include "harness/numerics/accumulation_error.hpp"
#include "harness/numerics/binade_means.hpp"

#include <algorithm>
#include <cmath>

namespace parity {
namespace {

// Mean of 4^floor(log2 |s|) / s^2 over logarithmically spread significands: 3 / (8 ln 2).
constexpr std::int64_t most_stretches = 4;

/// (1 + u)^n - 1: the largest relative error of n roundings, for any n.
double compound(double n, double u) {
  return std::expm1(n * std::log1p(u));
}

/// Moments of partial sums of exchangeable terms: for a sum of n of N terms whose sum is D and whose squares
/// sum to V, E[s^2] = on_v V + on_d D^2.
struct Moments {
  double on_v = 0, on_d = 0;
};
Moments subset_moments(double n, double total) {
  if (total <= 1) return {0, 1};
  const double pairs = n * (n - 1) / (total * (total - 1));
  return {n / total - pairs, pairs};
}

/// The same summed over the partial sums of `steps` steps of g terms each, n = g steps terms in all.
Moments chain_moments(double steps, double g, double total) {
  if (total <= 1) return {0, 1};
  const double sizes = g * steps * (steps + 1) / 2;
  const double squares = g * g * steps * (steps + 1) * (2 * steps + 1) / 6;
  const double pairs = (squares - sizes) / (total * (total - 1));
  return {sizes / total - pairs, pairs};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : (a + b - 1) / b;
}

/// Variance of a bridge of n steps around its line, averaged over its values, over V: (1/n) sum (m/n)(1 -
/// m/n).
double bridge_noise(double n) {
  return n > 0 ? (n * n - 1) / (6 * n * n) : 0;
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
    stretch.path_noise = bridge_noise(stretch.path);
    stretch.steps = stretch.path;
    out.push_back(stretch);
  }
  if (!out.empty()) out.back().ends_part = true;
}

/// `parts` chains of about n terms inside one stretch of N terms, each from zero.
void add_chains(Stretch& stretch, double parts, double step_terms) {
  const double total = static_cast<double>(stretch.end - stretch.begin);
  if (total == 0) return;
  const double steps = std::ceil(total / parts / step_terms);
  const Moments sums = chain_moments(steps, total / parts / steps, total);
  stretch.difference += parts * sums.on_d;
  stretch.squares += parts * sums.on_v;
}

/// The nodes of a tree over `leaves` sums: at each level nodes cover twice as many terms. The sum of two
/// numbers of like size loses one bit at most, so that it is exact or a tie, each half of the time: variance
/// 1/8 of the squared spacing and not 1/12. That holds at every node when the terms have one sign, and at
/// about half when signs are mixed.
void add_tree(Stretch& stretch, double leaves) {
  const double total = static_cast<double>(stretch.end - stretch.begin);
  for (double nodes = leaves / 2; nodes >= 0.75; nodes /= 2) {
    const double count = std::max(nodes, 1.0);
    const Moments sum = subset_moments(total / count, total);
    stretch.tree += 1.5 * count * sum.on_d;
    stretch.squares += 1.25 * count * sum.on_v;
  }
}

std::vector<Stretch> cut_into_stretches(const SummationPlan& plan, std::int64_t step_terms) {
  std::vector<Stretch> out;
  const std::int64_t terms = plan.terms();
  const std::int64_t parts = plan.parts();
  if (terms == 0) return out;
  // Up to 8 stretches of at least 8 terms and a whole step; each costs a pass over the output.
  const std::int64_t shortest = std::max<std::int64_t>(8, step_terms);
  const std::int64_t pieces = std::clamp<std::int64_t>(terms / shortest, 1, most_stretches);
  if (plan.combine != SummationPlan::Combine::sequence) {
    Stretch whole;
    whole.end = terms;
    whole.ends_part = true;
    whole.leaves = static_cast<double>(std::min(parts, terms));
    add_chains(whole, whole.leaves, static_cast<double>(step_terms));
    add_tree(whole, whole.leaves);
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
      stretch.path_noise = bridge_noise(stretch.path);
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
  error.product_spread += 2 * binade_square * u * u / 3;
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
  error.systematic_absolute = 2 * operations * smallest_normal(accumulate);
  error.hard_absolute += error.systematic_absolute;
  error.flush_inputs_below = smallest_normal(accumulate);
  // "either": a device that flushes may do so when it widens the inputs, too.
  if (model.denormals == Denormals::either && is_float(model.precision.input)) {
    error.flush_inputs_below =
        std::max(error.flush_inputs_below, smallest_normal(format_of(model.precision.input)));
  }
}

void describe_truncation(AccumulationError& error, const ArithmeticModel& model, int fraction_bits) {
  error.truncates = true;
  error.term_grid = std::ldexp(1.0, -fraction_bits);
  error.unnormalised_below = smallest_normal(model.precision.multiply);
  error.product_bits = 2 * (model.precision.multiply.precision - 1);
}

}  // namespace

AccumulationError accumulation_error(const ArithmeticModel& model, std::int64_t terms) {
  AccumulationError error;
  const FloatFormat accumulate = format_of(model.precision.accumulate);
  const double u = unit_roundoff(accumulate);
  const double k = static_cast<double>(terms);
  const bool exact_products = 2 * model.precision.multiply.precision <= accumulate.precision;
  error.unit = u;
  // One rounding to nearest: uniform over a spacing 2u 2^floor(log2 |s|), variance u^2/3 of that binade's
  // square.
  error.spread = u * u / 3;

  if (!model.accumulation) {
    // Any order: K roundings bound every tree with products rounded first, one more is a margin for a loop
    // that starts from a bias or a stored zero. The sequential spread is the widest of the usual orders.
    Stretch whole;
    whole.end = terms;
    whole.path = k;
    whole.path_noise = bridge_noise(k);
    whole.ends_part = true;
    error.stretches.push_back(whole);
    error.hard_relative = compound(k + 1, u);
    if (!exact_products) error.product_spread += binade_square * error.spread;
    if (model.may_truncate) {
      // A truncating adder that keeps at least 23 fraction bits: every product loses at most 2^-23 of the
      // largest magnitude around (at most M), and every step at most 2^-23 for the accumulator and 2^-23 for
      // the sum. A sum of parts adds one rounding for each. exp bounds the product of the steps' factors.
      const double steps = std::ceil(k / std::max(model.adder_terms, 1));
      error.hard_relative = std::max(error.hard_relative, std::expm1(2 * u * (k + 3 * steps)));
      error.stretches.back().steps = steps;
      error.perhaps_truncates = true;
      error.alignment_relative = error.hard_relative;
      describe_truncation(error, model, 23);
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
  if (multi_term && how.adder.rounding == Rounding::nearest_even) {
    // A step rounds once, to nearest, in place of `terms` times. Beside that rounding what alignment cuts
    // counts only where large products cancel: at most one grid step 2^-F q for each of the terms, of either
    // sign, a third of its square on average; q^2 is at most the step's share of V.
    const double cut = std::ldexp(1.0, -how.adder.fraction_bits);
    error.alignment_relative = compound(chain, (how.adder.terms + 1) * cut);
    error.hard_relative =
        (1 + compound(chain, (how.adder.terms + 1) * cut + u)) * (1 + compound(combine, u)) - 1;
    error.product_spread += (how.adder.terms + 1) * cut * cut / 3;
    error.unnormalised_below = smallest_normal(model.precision.multiply);
  } else if (multi_term) {
    // One step moves the sum by at most [(b+1) 2^-F + 2^-23] of the largest magnitude around, itself at most
    // M plus the error so far (2^emax is at most that magnitude: a product's exponent is never above its
    // own).
    const double step = (how.adder.terms + 1) * std::ldexp(1.0, -how.adder.fraction_bits) + 2 * u;
    error.hard_relative = (1 + compound(chain, step)) * (1 + compound(combine, u)) - 1;
    error.alignment_relative = error.hard_relative;
    describe_truncation(error, model, how.adder.fraction_bits);
    // A sum cut from a grid r times finer than its spacing: variance (r^2 - 1)/(12 r^2) of the spacing's
    // square.
    const double r = std::ldexp(1.0, how.adder.fraction_bits - (accumulate.precision - 1));
    error.spread = std::max(1 - 1 / (r * r), 0.0) * u * u / 3;
  } else {
    const bool rounds_product = how.multiply_add == MultiplyAdd::separate && !exact_products;
    error.hard_relative = compound(chain + combine + (rounds_product ? 1 : 0), u);
    if (rounds_product) error.product_spread += binade_square * error.spread;
  }
  add_underflow(error, model, 2 * k + combine);
  add_conversion(error, model);
  return error;
}

}  // namespace parity
