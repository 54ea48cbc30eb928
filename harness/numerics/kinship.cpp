#include "harness/numerics/kinship.hpp"

#include <algorithm>
#include <bit>

namespace parity {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
/// The mix of SplitMix64 (Steele, Lea and Flood 2014), whose states are `golden` apart.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Names of the matrices' rows, or of their columns, in order.
std::vector<std::uint64_t> names(const Value& x, bool of_columns) {
  const std::int64_t count = of_columns ? x.cols : x.rows;
  std::vector<std::uint64_t> result(static_cast<std::size_t>(x.batch * count), 0);
#pragma omp parallel for schedule(static) if (x.batch > 1 && x.size() > 32768)
  for (std::int64_t batch = 0; batch < x.batch; ++batch) {
    std::uint64_t* name = result.data() + batch * count;
    const double* element = x.v.data() + batch * x.rows * x.cols;
    for (std::int64_t r = 0; r < x.rows; ++r) {
      // Each element is mixed with its place along the other axis, so that the sum knows the order.
      for (std::int64_t c = 0; c < x.cols; ++c, ++element) {
        const auto place = static_cast<std::uint64_t>(of_columns ? r : c) + 1;
        name[of_columns ? c : r] += mixed(std::bit_cast<std::uint64_t>(*element) + place * golden);
      }
    }
  }
  return result;
}

bool repeats(std::vector<std::uint64_t> names) {
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

/// The names of a batch of 1, for every batch entry.
std::vector<std::uint64_t> for_batches(const std::vector<std::uint64_t>& names, bool one,
                                       std::int64_t batch) {
  if (!one) return names;
  std::vector<std::uint64_t> result;
  for (std::int64_t i = 0; i < batch; ++i) result.insert(result.end(), names.begin(), names.end());
  return result;
}

}  // namespace

void name_kin(const Value& a, bool transpose_a, const Value& b, bool transpose_b, Value& c) {
  const std::vector<std::uint64_t> rows = names(a, transpose_a), cols = names(b, !transpose_b);
  if (!repeats(rows) && !repeats(cols)) return;
  c.row_kin = for_batches(rows, a.batch == 1, c.batch);
  c.col_kin = for_batches(cols, b.batch == 1, c.batch);
}

std::uint64_t kin_of(const Value& x, std::int64_t index) {
  const std::int64_t col = index % x.cols, row = index / x.cols;  // rows counted through all batches
  const std::uint64_t name = x.row_kin[static_cast<std::size_t>(row)];
  return mixed(name + golden * x.col_kin[static_cast<std::size_t>(row / x.rows * x.cols + col)]);
}

}  // namespace parity
