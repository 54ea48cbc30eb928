#pragma once
#include <cstdint>
#include <vector>

#include "harness/ladder/replay.hpp"

namespace parity {

/// Rows and columns of a product's result, in every batch entry; empty: all.
struct Part {
  std::vector<std::int64_t> rows, cols;
};

/// Columns whose reference is made at a time.
inline constexpr std::int64_t panel_columns = 512;

/// The size of a dimension, counted from the last one; 1 where there is none.
std::int64_t dimension(const Shape& shape, std::size_t from_last);

/// The indices that were chosen of a dimension; all of them where none was.
std::vector<std::int64_t> chosen_or_all(const std::vector<std::int64_t>& chosen, std::int64_t size);

/// The elements of a part, bit for bit.
Result<Tensor> part_of(const Tensor& whole, const Part& part);

/// The call that makes a part alone; `held` keeps its inputs.
Result<CallResult> restricted(const CallResult& result, const Part& part, std::vector<Tensor>& held);

/// The tracked reference of a part, made in panels of columns: no factor is held in fp64 as a whole.
Result<Value> reference_of(const CallResult& result, Arithmetic& tracked, const Part& part);

}  // namespace parity
