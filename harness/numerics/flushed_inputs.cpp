#include "harness/numerics/flushed_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/numerics/value_access.hpp"

namespace parity {
namespace {

bool small(double x, double below) {
  return x != 0 && std::fabs(x) < below;
}

std::int64_t count_small(const MatrixView<double>& m, double below) {
  // The stored array is contiguous whichever way it is read.
  std::int64_t count = 0;
  const std::int64_t n = m.rows * m.cols;
#pragma omp parallel for reduction(+ : count) schedule(static) if (n > 32768)
  for (std::int64_t i = 0; i < n; ++i) count += small(m.data[i], below) ? 1 : 0;
  return count;
}

/// The matrix with |x| of its elements, or of the small ones only.
std::vector<double> magnitudes(const MatrixView<double>& m, double below, bool small_only) {
  std::vector<double> out(static_cast<std::size_t>(m.rows * m.cols));
  for_each_element(m.rows * m.cols, [&](std::int64_t i) {
    const double x = m.data[i];
    const bool keep = std::isfinite(x) && (!small_only || small(x, below));
    out[static_cast<std::size_t>(i)] = keep ? std::fabs(x) : 0;
  });
  return out;
}

MatrixView<double> with_data(MatrixView<double> m, const std::vector<double>& data) {
  m.data = data.data();
  return m;
}

/// missing += |a_small| |b|, one row of b for each small element.
void add_sparse_rows(const MatrixView<double>& a, const MatrixView<double>& b, double below,
                     std::vector<double>& missing) {
  for_each_element(a.rows, [&](std::int64_t i) {
    double* row = missing.data() + i * b.cols;
    for (std::int64_t k = 0; k < a.cols; ++k) {
      if (!small(a(i, k), below)) continue;
      const double magnitude = std::fabs(a(i, k));
      for (std::int64_t j = 0; j < b.cols; ++j) row[j] += magnitude * std::fabs(b(k, j));
    }
  });
}

/// missing += |a| |b_small|.
void add_sparse_cols(const MatrixView<double>& a, const MatrixView<double>& b, double below,
                     std::vector<double>& missing) {
  for (std::int64_t k = 0; k < b.rows; ++k) {
    for (std::int64_t j = 0; j < b.cols; ++j) {
      if (!small(b(k, j), below)) continue;
      const double magnitude = std::fabs(b(k, j));
      for (std::int64_t i = 0; i < a.rows; ++i) {
        missing[static_cast<std::size_t>(i * b.cols + j)] += magnitude * std::fabs(a(i, k));
      }
    }
  }
}

}  // namespace

void add_flushed_inputs(const MatrixView<double>& a, const MatrixView<double>& b, double below,
                        const double* v, double* hard, double* systematic) {
  const std::int64_t in_a = count_small(a, below);
  const std::int64_t in_b = count_small(b, below);
  if (in_a + in_b == 0) return;
  std::vector<double> missing(static_cast<std::size_t>(a.rows * b.cols), 0);
  const auto sparse = [](std::int64_t count, const MatrixView<double>& m) {
    return count * 64 <= m.rows * m.cols;
  };
  if (in_a > 0 && sparse(in_a, a)) {
    add_sparse_rows(a, b, below, missing);
  } else if (in_a > 0) {
    const std::vector<double> left = magnitudes(a, below, true);
    const std::vector<double> right = magnitudes(b, below, false);
    multiply(with_data(a, left), with_data(b, right), missing.data(), b.cols, true);
  }
  if (in_b > 0 && sparse(in_b, b)) {
    add_sparse_cols(a, b, below, missing);
  } else if (in_b > 0) {
    const std::vector<double> left = magnitudes(a, below, false);
    const std::vector<double> right = magnitudes(b, below, true);
    multiply(with_data(a, left), with_data(b, right), missing.data(), b.cols, true);
  }
  for_each_element(a.rows * b.cols, [&](std::int64_t i) {
    if (!std::isfinite(v[i])) return;
    const double lost = missing[static_cast<std::size_t>(i)] * 1.0001;
    hard[i] += lost;
    systematic[i] += lost;
  });
}

void add_unnormalised_inputs(const MatrixView<double>& a, const MatrixView<double>& b, double normal,
                             double factor, const double* v, double* hard, double* systematic) {
  if (count_small(a, normal) + count_small(b, normal) == 0) return;
  const auto product = [&](double least) {
    std::vector<double> left = magnitudes(a, normal, false), right = magnitudes(b, normal, false);
    for (std::vector<double>* side : {&left, &right})
      for (double& x : *side)
        if (x != 0) x = std::max(x, least);
    std::vector<double> sums(static_cast<std::size_t>(a.rows * b.cols), 0);
    multiply(with_data(a, left), with_data(b, right), sums.data(), b.cols, true);
    return sums;
  };
  const std::vector<double> plain = product(0), enlarged = product(normal);
  for_each_element(a.rows * b.cols, [&](std::int64_t i) {
    if (!std::isfinite(v[i])) return;
    const auto at = static_cast<std::size_t>(i);
    const double more = factor * (enlarged[at] * 1.0001 - plain[at]);
    hard[i] += more;
    systematic[i] += more;
  });
}

}  // namespace parity
