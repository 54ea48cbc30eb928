#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/numerics/error_statistics.hpp"
#include "harness/numerics/statistics_pass.hpp"

namespace parity {

/// The worst few elements; equal ratios go to the smaller index.
class WorstList {
 public:
  static constexpr std::size_t capacity = 8;
  /// Elements at or below this ratio need not be offered.
  double threshold() const { return list_.size() < capacity ? 0 : list_.back().ratio; }
  void offer(const WorstElement& element);
  const std::vector<WorstElement>& list() const { return list_; }

 private:
  std::vector<WorstElement> list_;  // sorted, worst first
};

/// The histogram of ErrorStatistics::ulp_histogram. Elements are counted some hundred at a time, one bin of
/// those that occur after the other: neighbours have few.
class UlpHistogram {
 public:
  static constexpr std::size_t bins = 49;
  void add(const double* ulps, std::size_t count);
  /// Elements whose bins are known.
  void count(const std::int32_t* bin, std::size_t count);
  void add(const UlpHistogram& other);
  const std::array<std::int64_t, bins>& totals() const { return counts_; }

 private:
  std::array<std::int64_t, bins> counts_{};
};

/// What a cosine needs.
struct VectorSums {
  double got_want = 0, got_got = 0, want_want = 0;
  void add(const VectorSums& other) {
    got_want += other.got_want;
    got_got += other.got_got;
    want_want += other.want_want;
  }
  double cosine() const;  ///< 1 where both vectors are zero, 0 where only one is
};

/// Column sums of one band of sixteen rows, from which its tiles follow. Sixteen terms in fp32, then fp64;
/// single elements, whose figures fp32 may not hold, in fp64.
class ColumnBand {
 public:
  explicit ColumnBand(std::size_t columns);
  /// Where the sums of `column` and those after it lie; room for whole groups of eight.
  struct Place {
    float *counts, *z, *z_outward, *z_square;
  };
  Place at(std::size_t column) {
    return {counts_.data() + column, z_.data() + column, z_outward_.data() + column,
            z_square_.data() + column};
  }
  void add(std::size_t column, const ScopeSums& element);
  /// Adds to one ScopeSums a column and one a tile of sixteen columns, and starts afresh.
  void flush(ScopeSums* columns, ScopeSums* tiles);

 private:
  std::size_t columns_;
  std::vector<float> counts_, z_, z_outward_, z_square_;
  std::vector<ScopeSums> single_;
  bool any_single_ = false;
};

}  // namespace parity
