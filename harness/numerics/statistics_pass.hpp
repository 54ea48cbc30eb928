#pragma once
#include <cstdint>
#include <vector>

#include "harness/numerics/contract.hpp"
#include "harness/numerics/error_statistics.hpp"

namespace parity {

/// Sums over the elements of a row, a column, a tile or the tensor that take part in the aggregate tests.
struct ScopeSums {
  double count = 0;
  double z = 0;          ///< sum of standardised errors
  double z_outward = 0;  ///< the same, signed by the sign of the reference: negative means shrunk
  double z_square = 0;
  void add(const ScopeSums& other) {
    count += other.count;
    z += other.z;
    z_outward += other.z_outward;
    z_square += other.z_square;
  }
};

/// How many elements outside their contract each row, column and batch holds.
struct WrongMarginals {
  std::vector<std::int64_t> rows, columns, batches;
  std::int64_t total = 0;
};

/// Everything one pass over a result and its reference yields.
struct Measurement {
  ErrorStatistics statistics;
  static constexpr std::int64_t tile = 16;
  std::int64_t tile_rows = 0, tile_columns = 0;  ///< tiles per batch
  /// [batch * rows], [batch * columns], [batch * tile_rows * tile_columns]; empty where a scope would hold
  /// fewer than four elements.
  std::vector<ScopeSums> rows, columns, tiles;
  ScopeSums tensor;
  WrongMarginals wrong;
  /// Outside the expected spread, inside the hard bound: the first of them, and how many there are.
  static constexpr std::size_t suspect_limit = 4096;
  std::vector<std::int64_t> suspects;
  std::int64_t suspect_count = 0;
  std::int64_t first_unwritten = -1;  ///< index of the first element that still holds the poison
};

/// One parallel pass. The partition depends on the shape only and partial results are merged in its order, so
/// the figures do not depend on the number of threads. `got` holds want.size() elements (any strides).
Measurement measure(const Tensor& got, const Value& want, const Contract& contract);

}  // namespace parity
