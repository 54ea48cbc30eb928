#pragma once
#include <cstdint>
#include <vector>

#include "harness/numerics/accumulators.hpp"
#include "harness/numerics/block_reader.hpp"
#include "harness/numerics/element_kernel.hpp"
#include "harness/numerics/element_screen.hpp"
#include "harness/numerics/error_map.hpp"
#include "harness/numerics/statistics_pass.hpp"

namespace parity {

/// A part of one batch, of whole 16x16 tiles: what one thread works through at a time.
struct Rectangle {
  std::int64_t batch = 0, row = 0, column = 0, rows = 0, columns = 0;
};

/// Where a rectangle leaves its aggregate sums. Slots belong to it alone.
struct AggregateSlots {
  ScopeSums* rows = nullptr;          ///< one a row of the rectangle; null: not wanted
  VectorSums* row_vectors = nullptr;  ///< with `rows`
  bool bands = false;                 ///< columns and tiles wanted
  ScopeSums* columns = nullptr;       ///< one a column of the rectangle
  ScopeSums* tiles = nullptr;         ///< its first tile; the next row of tiles lies tile_stride further
  std::int64_t tile_stride = 0;
};

/// Partial results of a rectangle.
struct UnitResult {
  ErrorStatistics statistics;  ///< counters and maxima only
  double max_ulps = 0, zeros = 0;
  double error_square = 0, error_signed = 0, error_absolute = 0;
  VectorSums vectors;
  ScopeSums tensor;
  UlpHistogram histogram;
  WorstList worst;
  std::int64_t taken_out =
      0;                 ///< elements left out of the sums: NaN or infinite, in the result or the reference
  WrongMarginals wrong;  ///< relative to the rectangle; no batches
  std::vector<std::int64_t> suspects;
  std::int64_t suspect_count = 0;
  std::int64_t first_unwritten = -1;
  ErrorMap map;  ///< only when one was asked for
};

/// `mapped`: UnitResult::map is wanted, over the whole matrix; every element is then computed exactly.
UnitResult pass_over(const BlockReader& reader, const ElementKernel& kernel, const ElementScreen& screen,
                     const Contract& contract, const Value& want, const Rectangle& area,
                     const AggregateSlots& slots, bool mapped = false);

}  // namespace parity
