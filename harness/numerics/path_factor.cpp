#include "harness/numerics/path_factor.hpp"
#include "harness/numerics/binade_means.hpp"

#include <algorithm>
#include <vector>

#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

constexpr std::int64_t most = 32;

/// Up to `most` rows spread evenly, one after the other.
std::vector<double> some_rows(const StoredMatrix& m, std::int64_t count) {
  std::vector<double> out(static_cast<std::size_t>(count * m.cols));
  for (std::int64_t i = 0; i < count; ++i)
    read_tile(m, i * m.rows / count, 0, 1, m.cols, out.data() + i * m.cols, m.cols);
  return out;
}

}  // namespace

double path_factor(const ProductForm& form) {
  const std::int64_t terms = form.left.cols;
  const std::int64_t rows = std::min(most, form.left.rows), cols = std::min(most, form.right.cols);
  if (terms == 0 || rows == 0 || cols == 0) return 1;
  const std::vector<double> left = some_rows(form.left, rows);
  const std::vector<double> right = some_rows(form.right.transposed(), cols);
  std::vector<double> measured(static_cast<std::size_t>(rows)), expected(static_cast<std::size_t>(rows));
#pragma omp parallel for schedule(static) if (rows * cols * terms > 100000)
  for (std::int64_t i = 0; i < rows; ++i) {
    double path = 0, random = 0;
    for (std::int64_t j = 0; j < cols; ++j) {
      const double* a = left.data() + i * terms;
      const double* b = right.data() + j * terms;
      double sum = 0, squares = 0;
      for (std::int64_t k = 0; k < terms; ++k) {
        const double product = a[k] * b[k];
        sum += product;
        squares += product * product;
        path += binade(sum) * binade(sum);
      }
      random += binade_square * (sum * sum / 3 + squares / 6);
    }
    measured[static_cast<std::size_t>(i)] = path / static_cast<double>(terms);
    expected[static_cast<std::size_t>(i)] = random;
  }
  double path = 0, random = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) path += measured[i], random += expected[i];
  return random > 0 ? std::max(1.0, path / random) : 1;
}

}  // namespace parity
