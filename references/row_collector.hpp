#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "harness/numerics/value_shape.hpp"

namespace parity {

/// Puts the rows of a result in their places when they come in parts.
class RowCollector {
 public:
  /// Row i of `part` (its batches below each other) is row places[i] of the result.
  void add(Value part, std::span<const std::int64_t> places) {
    const std::int64_t rows = part.batch * part.rows, cols = part.cols;
    parts_.push_back(reshape(std::move(part), 1, rows, cols));
    places_.insert(places_.end(), places.begin(), places.end());
  }

  /// The result [1, rows, cols] out of rows of `part_cols` columns, row-major; each of them must have been
  /// added once. Without any parts: [1, rows, cols] of zeros.
  Value finish(std::int64_t rows, std::int64_t cols, std::int64_t part_cols) const {
    if (parts_.empty()) return filled(1, rows, cols, 0);
    std::vector<std::int64_t> source(static_cast<std::size_t>(rows * cols / part_cols));
    for (std::size_t i = 0; i < places_.size(); ++i)
      source[static_cast<std::size_t>(places_[i])] = static_cast<std::int64_t>(i);
    return reshape(take_rows(concat_rows(parts_), source), 1, rows, cols);
  }

 private:
  std::vector<Value> parts_;
  std::vector<std::int64_t> places_;
};

}  // namespace parity
