#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "harness/tensor/tensor.hpp"

namespace parity::layout {

/// Number of logical elements one parallel task takes: large enough to hide its start, small enough for L2.
inline constexpr std::int64_t block = 16384;

/// Calls `run(logical, storage, count, step)` for the logical (row-major) range [begin, end): elements
/// logical .. logical+count-1 lie at storage, storage+step, ... A contiguous tensor gives one run.
template <class Run>
void for_runs(const Tensor& tensor, std::int64_t begin, std::int64_t end, Run&& run) {
  if (begin >= end) return;
  if (tensor.contiguous() || tensor.shape().empty()) {
    run(begin, begin, end - begin, std::int64_t{1});
    return;
  }
  const std::int64_t row = tensor.shape().back();
  const std::int64_t step = tensor.strides().back();
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t count = std::min(end, (i / row + 1) * row) - i;
    run(i, tensor.offset_of(i), count, step);
    i += count;
  }
}

/// The same over the whole tensor, blocks in parallel. `run` must not throw and may be called from any
/// thread.
template <class Run>
void for_runs_parallel(const Tensor& tensor, Run&& run) {
  const std::int64_t elements = tensor.elements();
  const std::int64_t blocks = (elements + block - 1) / block;
#pragma omp parallel for schedule(static) if (blocks > 4)
  for (std::int64_t b = 0; b < blocks; ++b) {
    for_runs(tensor, b * block, std::min(elements, (b + 1) * block), run);
  }
}

/// Calls `gap(begin, end)` for every maximal range of storage positions that no index reaches, ascending.
template <class Gap>
void for_gaps(const Tensor& tensor, Gap&& gap) {
  if (tensor.elements() == tensor.extent()) return;
  // Walk the dimensions in the order of their strides, so that storage positions only grow.
  std::vector<std::size_t> order(tensor.shape().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t d) { return tensor.shape()[d] == 1; });
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensor.strides()[a] > tensor.strides()[b]; });
  const std::int64_t count = tensor.shape()[order.back()];
  const std::int64_t step = tensor.strides()[order.back()];
  order.pop_back();
  std::vector<std::int64_t> index(order.size(), 0);
  std::int64_t cursor = 0;
  for (std::int64_t base = 0;;) {
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t at = base + i * step;
      if (at > cursor) gap(cursor, at);
      const std::int64_t reached = step == 1 ? count : 1;
      cursor = at + reached;
      i += reached;
    }
    std::size_t d = order.size();
    while (d > 0) {
      --d;
      base += tensor.strides()[order[d]];
      if (++index[d] < tensor.shape()[order[d]]) break;
      base -= tensor.strides()[order[d]] * index[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (order.empty()) return;
  }
}

}  // namespace parity::layout
