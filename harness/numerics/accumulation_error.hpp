#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/summation_order.hpp"

namespace parity {

/// A stretch of the reduction over which partial sums move from s0 to s1 (D = s1 - s0) while squares of
/// products sum to V. With E2(x, y) the mean of 4^floor(log2 |s|) along the line from x to y (0.541 times the
/// mean of s^2 on average), the expected sum of 4^floor(log2 |s|) over rounded values s is
///   path (E2(s0, s1) + 0.541 path_noise V) + 0.541 (difference D^2 rho + tree D^2 tau + squares V),
/// rho = E2(0, D)/(0.541 D^2/3) and tau = 4^floor(log2 |D|)/(0.541 D^2): what D's own significand makes of
/// it.
struct Stretch {
  std::int64_t begin = 0, end = 0;  ///< positions in the plan's order
  double path = 0;                  ///< roundings of the running sum
  double path_noise = 0;  ///< variance of a partial sum around the line, over V, averaged over the path
  double difference = 0, squares = 0;  ///< roundings inside chains that start from zero within the stretch
  double tree = 0;                     ///< nodes of a tree over equal shares of the stretch
  double steps = 0;                    ///< truncated sums of a multi-term adder, along the path
  double chains = 0;  ///< > 0: the steps belong to that many chains, each from zero to about D / chains
  double leaves = 0;  ///< > 0: the sums of that many chains, each from zero, are added by a tree
  bool ends_part =
      false;  ///< the chain's sum then joins the total, with one rounding, and the chain restarts
};

/// What is known of a matmul's rounding errors before any data is seen; docs/numerics.md, sections 2 and 4.
struct AccumulationError {
  std::vector<std::int64_t> permutation;  ///< as SummationPlan's; only where the stretches need it
  std::vector<Stretch> stretches;
  bool combines_parts = false;  ///< more than one part: totals are rounded when a part ends
  double unit = 0;              ///< unit roundoff of the accumulator
  double hard_relative = 0;     ///< |error| <= hard_relative * M + hard_absolute
  double hard_absolute = 0;
  double spread = 0;  ///< variance: spread * (the stretches' sum) + product_spread * V + absolute_variance
  double product_spread = 0;
  double absolute_variance = 0;
  double systematic_absolute = 0;  ///< where results may be flushed to zero
  double systematic_relative = 0;  ///< of |y| (truncating conversion to the multiply format)
  double mean_relative = 0;        ///< of y (the same conversion)
  double flush_inputs_below = 0;   ///< inputs below it may be read as zero; 0: none
  // Truncating adders (multi_term, or perhaps one): see truncation_loss() in stretch_rounding.cpp.
  bool truncates = false;
  bool perhaps_truncates =
      false;             ///< bias anywhere between none and the derived one: `systematic`, not `mean`
  double term_grid = 0;  ///< grid of an aligned product over 2^emax: 2^-F
  // Multi-term adders: inputs below `unnormalised_below` are aligned as if they were this large, and steps
  // lose at most `alignment_relative` of the largest magnitude around.
  double unnormalised_below = 0;
  double alignment_relative = 0;
  int product_bits = 0;  ///< an exact product has at most this many bits below its leading one
};

AccumulationError accumulation_error(const ArithmeticModel& model, std::int64_t terms);

}  // namespace parity
