#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/summation_order.hpp"

namespace parity {

/// A stretch of the reduction over which partial sums move from s0 to s1 (D = s1 - s0) while squares of
/// products sum to V. The stretch adds to the expected sum of squared rounded values
///   R2 += path ((s0^2 + s0 s1 + s1^2)/3 + V/6) + difference D^2 + squares V
/// and, for a multi-term adder, `steps` truncated partial sums along the path.
struct Stretch {
  std::int64_t begin = 0, end = 0;  ///< positions in the plan's order
  double path = 0, difference = 0, squares = 0;
  double steps = 0;
  double chains = 0;  ///< > 0: the steps belong to that many chains, each from zero to about D / chains
  bool ends_part =
      false;  ///< the chain's sum then joins the total, with one rounding, and the chain restarts
};

/// What is known of a matmul's rounding errors before any data is seen; numerics.md, sections 2 and 4.
struct AccumulationError {
  std::vector<std::int64_t> permutation;  ///< as SummationPlan's; only where the stretches need it
  std::vector<Stretch> stretches;
  bool combines_parts = false;  ///< more than one part: totals are rounded when a part ends
  double unit = 0;              ///< unit roundoff of the accumulator
  double hard_relative = 0;     ///< |error| <= hard_relative * M + hard_absolute
  double hard_absolute = 0;
  double spread = 0;  ///< variance: spread * R2 + product_spread * V + absolute_variance
  double product_spread = 0;
  double absolute_variance = 0;
  double systematic_relative = 0;  ///< of |y| (truncating conversion to the multiply format)
  double mean_relative = 0;        ///< of y (the same conversion)
  double flush_inputs_below = 0;   ///< inputs below it may be read as zero; 0: none
  // Truncating adders (multi_term, or perhaps one): see truncation_bias() in tracked_matmul.cpp.
  bool truncates = false;
  bool perhaps_truncates =
      false;                  ///< bias anywhere between none and the derived one: `systematic`, not `mean`
  double sum_truncation = 0;  ///< mean loss of one truncation of a partial sum s, over 2^floor(log2 |s|)
  double term_grid = 0;       ///< grid of an aligned product over 2^emax: 2^-F
  int term_free_bits = 0;     ///< a product is cut only where it lies more than this many bits below emax
};

AccumulationError accumulation_error(const ArithmeticModel& model, std::int64_t terms);

}  // namespace parity
