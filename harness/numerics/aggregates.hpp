#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/numerics/statistics_pass.hpp"

namespace parity {

/// An aggregate test over a row, a column, a 16x16 tile or the tensor: what no single element shows, because
/// every one of them is within its bounds.
struct AggregateFinding {
  enum class Scope : std::uint8_t { row, column, tile, tensor } scope;
  std::int64_t batch = 0, index = 0;  ///< row or column number; tile number in row-major tiles
  enum class Kind : std::uint8_t {
    bias,       ///< sqrt(n) mean(z)
    magnitude,  ///< sqrt(n) mean(z sgn(y)): everything shrunk or grown (a truncating store, a lost scale)
    spread,     ///< mean(z^2) as a normal deviate
  } kind;
  double deviate = 0;  ///< in standard deviations; the threshold is aggregate_threshold
};

inline constexpr double aggregate_threshold = 6;

/// Deviates of one scope: |.| for bias and magnitude; the spread only counts upwards, by the transform of
/// Wilson and Hilferty (1931): for X ~ chi^2_n, (X/n)^(1/3) is normal with mean 1 - 2/(9n) and variance
/// 2/(9n). The plain (mean - 1) sqrt(n/2) has far too heavy a tail for rows of a few elements.
double deviate(const ScopeSums& sums, AggregateFinding::Kind kind);

struct AggregateReport {
  std::vector<AggregateFinding> findings;  ///< beyond the threshold, worst first, at most 64
  double worst = 0;                        ///< largest deviate that stands
};

/// The elements of a finding's scope, row-major indices; evenly thinned to about `most`.
std::vector<std::int64_t> elements_of(const AggregateFinding& finding, const Value& want,
                                      const Measurement& measurement, std::int64_t most);

/// Tests every scope of a measurement. z is standardised with the inflated variances of
/// aggregate_inflation(). Elements whose references are equal (or differ by a power of two) may be copies of
/// one computation, rounding errors included (identical tokens, constant columns), and elements summed from
/// the same products share that error (equal rows of weights under a bias): a scope beyond the threshold is
/// computed again with such elements merged into one before it counts.
AggregateReport aggregate_report(const Measurement& measurement, const Tensor& got, const Value& want,
                                 const Contract& contract);

/// "column 7 of batch 0: bias, 41.3 sigma"
std::string to_string(const AggregateFinding& finding, const Measurement& measurement);

}  // namespace parity
