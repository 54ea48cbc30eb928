#pragma once
#include <cstddef>
#include <cstdint>

#include "harness/numerics/contract.hpp"
#include "harness/numerics/store_grid.hpp"

namespace parity {

/// Elements judged together: arrays of doubles that stay in the nearest caches.
struct ElementBlock {
  static constexpr std::size_t capacity = 256;
  using Lane = double[capacity];
  // In: finite numbers only (a non-finite element is taken out by the caller and replaced by zeros).
  Lane got, v, hard, systematic, mean, variance;
  // Out.
  Lane error;       ///< got - v
  Lane relative;    ///< |error| / |v|, 0 where v = 0
  Lane ratio;       ///< |error - mean| over the accepted half-width; > 1 exactly where outside
  Lane hard_ratio;  ///< |error| over the hard half-width; > 1 exactly where beyond
  Lane bound;       ///< accepted half-width on the side of `got`
  Lane ulps;        ///< |error| in store ULP at v
  Lane z;           ///< standardised error for the aggregates, 0 where it does not count
  Lane z_outward;   ///< z with the sign it has seen from zero: negative means shrunk
  Lane z_whole;     ///< as z, before the certain part is taken off
  Lane z_certain;   ///< the certain part (systematic, or the bias of a truncating adder) in the same units
  Lane z_square;    ///< squared error over the variance allowed for the spread
  Lane counts;      ///< 1 where the element takes part in the aggregates
};

/// What an element may be: the ends of its accepted and its certain interval, on the output grid.
struct ElementLimits {
  double low = 0, high = 0, hard_low = 0, hard_high = 0;
};

/// The judgement of single elements, docs/numerics.md section 5, step 2:
///   E = lambda sigma + 0.1 |mean| + systematic, accepted [v + mean - E, v + mean + E] cut to [v - hard, v +
///   hard],
/// ends rounded to the output grid (in the store's own mode where it is known: what catches a truncating
/// store; outward otherwise).
class ElementKernel {
 public:
  /// `elements`: size of the whole tensor, for the spread multiplier.
  ElementKernel(const Contract& contract, std::int64_t elements);

  /// Fills the outputs of block[0, count rounded up to 8); the inputs up to there must be set.
  void evaluate(ElementBlock& block, std::size_t count) const;
  /// For single elements, infinite bounds allowed.
  ElementLimits limits(double v, double hard, double systematic, double mean, double variance) const;

  const StoreGrid& store_grid() const { return grid_; }
  EndRounding ends() const { return ends_; }
  double multiplier() const { return lambda_; }

 private:
  template <EndRounding ends, bool narrow>
  void evaluate_as(ElementBlock& block, std::size_t count) const;
  template <EndRounding ends>
  void standardise(ElementBlock& block, std::size_t count) const;

  StoreGrid grid_;
  EndRounding ends_ = EndRounding::nearest;
  double lambda_ = 0;
  AggregateInflation inflation_;
  bool store_rounds_ = true;
};

/// True when the contract asks for bits: declared exact, or an integer output.
inline bool wants_bits(const Contract& contract) {
  return contract.exact || contract.store == DType::i32;
}

}  // namespace parity
