#pragma once
#include <cstdint>
#include <string>

#include "harness/numerics/statistics_pass.hpp"

namespace parity {

/// Where in the matrix the wrong elements sit.
struct ErrorLocation {
  std::string
      pattern;  ///< in words: "none", "all elements", "one element", "row 5", "column 7", "rows 32..47",
                ///< "tile at (16, 32), 16x16", "columns that are 15 mod 16", "the tail columns", "scattered"
  std::int64_t wrong = 0;  ///< elements outside their contract
  std::int64_t first_row = -1, last_row = -1, first_col = -1, last_col = -1, first_batch = -1,
               last_batch = -1;
};

/// Names the pattern of the wrong elements from how many each row, column and batch holds (memory: one number
/// a row and column). Batches share one pattern; how many are touched is added to the words.
ErrorLocation locate(const WrongMarginals& wrong);

}  // namespace parity
