#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/contract.hpp"
#include "harness/numerics/product_form.hpp"

namespace parity {

struct FreivaldsSettings {
  int vectors = 2;            ///< random vectors a segment; errors that cancel in one survive with 2^-vectors
  std::int64_t segments = 0;  ///< parts that a row is cut into, each checked by itself; 0: chosen
  std::uint64_t seed = 1;
};
/// Segments of about 256 columns, at most 64: the check then costs 64 * vectors multiply-adds for each
/// element of the left factor, and sees errors 1/8 the size that whole rows of 16384 would show.
std::int64_t default_segments(std::int64_t cols);

/// A segment of a row whose errors do not sum to what a healthy device leaves.
struct FreivaldsFinding {
  std::int64_t row = 0, first_col = 0, last_col = 0;
  double residual = 0, threshold = 0;
  bool certain = false;  ///< beyond the hard bound, or integers that differ
};

/// What Freivalds' check of one product found; rows of D, or its columns where the form was transposed.
struct FreivaldsReport {
  bool integers = false;  ///< exact in integers: every residual must be zero
  bool modular = false;   ///< of these: modulo 2^32 (freivalds_modular)
  int vectors = 0;
  std::int64_t rows = 0, cols = 0, segments = 0;
  std::vector<FreivaldsFinding> findings;  ///< worst of each row first, at most freivalds_findings rows
  std::int64_t flagged_rows = 0;           ///< rows with a finding or an element that cannot be summed
  std::int64_t unsummed_rows = 0;          ///< of these: NaN or infinite elements, in a real product
  std::int64_t nonfinite = 0;              ///< elements of D
  std::int64_t not_integer = 0;            ///< elements of D that are none or too large to be a result
  double largest_ratio = 0;                ///< |residual| / threshold, over rows that could be summed
  double rms_deviate = 0;  ///< root mean square of residual / predicted standard deviation; 0 when exact
  /// Smallest error of one element that is certain to be seen: in the worst segment, and on average. Twice
  /// the threshold, for the healthy rest may hide as much as the threshold; integers: one unit of D's grid.
  double certain_error = 0, typical_certain_error = 0;
  std::vector<double> row_certain;  ///< of each row, in its worst segment; empty: integers
  double element_bound = 0;         ///< what the element contract allows an element of an average row
};
inline constexpr std::size_t freivalds_findings = 64;

/// Freivalds' check of every row of `result` against left (right x), x random signs over one segment of
/// columns at a time; O((m + k) n + m k segments) operations a vector (Freivalds 1977; the bound of healthy
/// rounding: freivalds_bound.hpp). With contract.exact: in integers when all inputs are integers, then one
/// wrong element in a segment is always seen, however small; otherwise every rounding error is a finding.
/// Sums that wrap around (sums_integers): modulo 2^32, by freivalds_modular, whatever the settings but the
/// seed. A row with an element of D that is NaN or infinite is flagged. Unsupported, with the reason: an fp64
/// accumulator, inputs that are NaN, infinite or below what the model reads faithfully, integers too large
/// for int64. bad_input: sizes that do not fit.
Result<FreivaldsReport> freivalds_rows(const ProductForm& form, const StoredMatrix& result,
                                       const ArithmeticModel& model, const Contract& contract,
                                       const FreivaldsSettings& settings);

/// What a row of D that changes by `changes`, one a column, moves its residuals by: the largest over segments
/// and vectors of freivalds_rows with the same settings. More than the row's FreivaldsReport::row_certain is
/// seen for certain; of integers, anything.
double freivalds_shift(std::span<const double> changes, const FreivaldsSettings& settings);

}  // namespace parity
