#pragma once
#include <cstdint>

#include "harness/numerics/accumulation_error.hpp"

namespace parity {

/// One row of outputs and one stretch of the reduction. Arrays of `count` elements that do not overlap.
struct StretchRow {
  std::int64_t count;
  const double* product;                 ///< D, what the stretch adds
  const float* squares;                  ///< sums of squared products, scaled: see ScaledMargin
  double row_unscale;                    ///< factor of the row ...
  const double* col_unscale;             ///< ... and of each column, which undo the scaling
  const double* magnitudes;              ///< sums of |products| of the whole reduction
  double* chain;                         ///< the partial sum: in before, out after the stretch
  double *variance, *mean, *systematic;  ///< collect
};

/// What the roundings of one stretch add to the variance of outputs and, where the adder truncates, to their
/// mean and systematic error (docs/numerics.md, section 2). What is common to all outputs is worked out once.
class StretchRounding {
 public:
  /// `terms`: of the whole reduction.
  StretchRounding(const AccumulationError& error, const Stretch& stretch, std::int64_t terms);
  void add(const StretchRow& row) const { (this->*add_)(row); }

 private:
  /// What truncation_loss() needs of the stretch.
  struct Truncation {
    double terms, per_term;    ///< of the stretch
    double chains, per_chain;  ///< in the stretch
    double steps;              ///< of one chain
    double keeps_start;        ///< 0: chains start from zero
    double half_step;          ///< half a step, of a chain's difference
    double noise, doubt_steps;
    double unit, term_grid, product_reach, last_bit;
    double known;  ///< 0: it may truncate or not
  };
  struct Loss {
    double mean, systematic, variance;
  };
  static Loss truncation_loss(const Truncation& t, double s0, double difference, double reciprocal,
                              double squares, double magnitudes);
  template <bool truncates, bool has_chains>
  void add_as(const StretchRow& row) const;

  void (StretchRounding::*add_)(const StretchRow&) const = nullptr;
  double relative_, absolute_;  ///< ScaledMargin of the stretch
  double on_path_, on_squares_, on_chains_, on_tree_;
  double half_step_, chains_, share_;
  Truncation truncation_{};
};

}  // namespace parity
