#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "harness/numerics/accumulators.hpp"
#include "harness/numerics/element_kernel.hpp"

namespace parity {

/// Elements next to each other, read where they lie; `count` of them, at most ElementBlock::capacity.
struct ElementRun {
  const double *got, *v, *hard, *systematic, *mean, *variance;
  std::size_t count;
  bool offsets;  ///< false: `systematic` and `mean` are zero throughout
  /// What is read next lies this many elements further (0: unknown): fetched while the arithmetic is busy.
  std::int64_t next = 0;
};

/// The largest figures so far. An element that cannot exceed them needs no exact figure of its own.
struct RunningMaxima {
  double ratio = 0;  ///< what an element must exceed to join the worst elements
  double hard_ratio = 0;
  double relative = 0;
};

/// What all elements of a run contribute, computed exactly as ElementKernel does.
struct RunSums {
  double error_signed = 0, error_absolute = 0, error_square = 0;
  VectorSums vectors;
  double max_abs = 0, max_ulps = 0;
  std::int64_t zeros = 0;
};

/// The cheap first look at elements. Most of a healthy result lies so clearly within its interval and below
/// the running maxima that neither the interval on the output grid nor any ratio has to be computed: a
/// comparison in fp32 with a margin settles it. What it cannot settle it names, for ElementKernel.
///
/// Standardised errors of settled elements are computed in fp32, in units of the store's ulp (relative error
/// about 1e-6), eight at a time; their sums are folded into fp64 after each run.
class ElementScreen {
 public:
  ElementScreen(const Contract& contract, const ElementKernel& kernel);

  /// Working memory of one thread, and its result.
  struct Scratch {
    static constexpr std::size_t groups = ElementBlock::capacity / 8;
    template <class T>
    using Lane = std::array<T, ElementBlock::capacity>;
    alignas(32) Lane<float> off_center;  ///< got - v - mean
    alignas(32) Lane<float> center, variance, side, error, hard, extra, beyond_certain, residual;
    alignas(32) Lane<std::int32_t> bin, doubtful;
    std::array<std::uint8_t, groups> unsettled;  ///< bit i of [g]: element 8 g + i is left to ElementKernel
    ScopeSums row;                               ///< over the settled elements
  };

  /// False where an element is not finite (or sums overflow): nothing was added then, the run is to be judged
  /// element by element. Adds to the histogram, and the settled elements' standardised errors to the band
  /// from `column` on.
  bool look(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch, RunSums& sums,
            UlpHistogram& histogram, ColumnBand* band, std::size_t column) const;

 private:
  enum class Store : std::uint8_t { exact, nearest, toward_zero, outward };
  template <Store store, bool offsets>
  bool measure(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch, RunSums& sums) const;
  template <Store store, bool offsets>
  void settle(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch, ColumnBand* band,
              std::size_t column) const;
  template <Store store, bool offsets>
  bool look_as(const ElementRun& run, const RunningMaxima& maxima, Scratch& scratch, RunSums& sums,
               ColumnBand* band, std::size_t column) const;

  StoreGrid grid_;
  Store store_;
  double half_ulp_ = 0.5;    ///< what a half-width gains by the rounding of its end, in ulp
  double inside_ulp_ = 0.5;  ///< how far beyond the end an element on the grid is still inside, in ulp
  double lambda_ = 0;
  AggregateInflation inflation_;
};

}  // namespace parity
