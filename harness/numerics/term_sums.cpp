#include "harness/numerics/term_sums.hpp"

#include <algorithm>
#include <cmath>

namespace parity {

MatrixSums::MatrixSums(const MatrixView<double>& a, const MatrixView<double>& b)
    : a_(a), b_(b), scaled_a_(scale_rows(a)), scaled_b_(scale_cols(b)) {}

void MatrixSums::magnitudes(const Tile& tile, float* into) const {
  multiply(scaled_a_.magnitudes().block(tile.row, 0, tile.rows, a_.cols),
           scaled_b_.magnitudes().block(0, tile.col, a_.cols, tile.cols), into, tile.cols, false);
}

void MatrixSums::stretch(const Tile& tile, std::int64_t begin, std::int64_t n, double* products,
                         float* squares) const {
  multiply(a_.block(tile.row, begin, tile.rows, n), b_.block(begin, tile.col, n, tile.cols), products,
           tile.cols, false);
  multiply(scaled_a_.squares().block(tile.row, begin, tile.rows, n),
           scaled_b_.squares().block(begin, tile.col, n, tile.cols), squares, tile.cols, false);
}

double MatrixSums::scatter(std::int64_t row, std::int64_t col, std::int64_t begin, std::int64_t n,
                           double about) const {
  double sum = 0;
  for (std::int64_t k = begin; k < begin + n; ++k) {
    const double off = a_(row, k) * b_(k, col) - about;
    sum += off * off;
  }
  return sum / static_cast<double>(n);
}

DotSums::DotSums(Vectors a, Vectors b, std::int64_t count, std::int64_t terms,
                 const std::vector<std::int64_t>& permutation)
    : a_(a), b_(b), permutation_(permutation) {
  scales_.resize(static_cast<std::size_t>(count), 1);
  magnitudes_.resize(scales_.size());
#pragma omp parallel for schedule(static) if (worth_threads(count, 1, terms))
  for (std::int64_t i = 0; i < count; ++i) {
    const double *x = a_[i], *y = b_[i];
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < terms; ++k) sum += std::fabs(x[k] * y[k]);
    const auto at = static_cast<std::size_t>(i);
    // A sum that is not finite has a result that is not either, which carries no bound.
    if (sum > 0 && std::isfinite(sum))
      scales_[at] = std::ldexp(1.0, std::clamp(std::ilogb(sum), -1000, 1000));
    magnitudes_[at] = static_cast<float>(sum / scales_[at]);
  }
}

void DotSums::magnitudes(const Tile& tile, float* into) const {
  std::copy_n(magnitudes_.begin() + tile.row, tile.rows, into);
}

void DotSums::stretch(const Tile& tile, std::int64_t begin, std::int64_t n, double* products,
                      float* squares) const {
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const double *x = a_[tile.row + i], *y = b_[tile.row + i];
    const double down = 1 / row_scale(tile.row + i);
    double sum = 0, square = 0;
    if (permutation_.empty()) {
#pragma omp simd reduction(+ : sum, square)
      for (std::int64_t k = begin; k < begin + n; ++k) {
        const double p = x[k] * y[k];
        sum += p;
        square += p * down * (p * down);
      }
    } else {
      for (std::int64_t k = begin; k < begin + n; ++k) {
        const std::int64_t from = permutation_[static_cast<std::size_t>(k)];
        const double p = x[from] * y[from];
        sum += p;
        square += p * down * (p * down);
      }
    }
    products[i] = sum;
    squares[i] = static_cast<float>(square);
  }
}

double DotSums::scatter(std::int64_t row, std::int64_t, std::int64_t begin, std::int64_t n,
                        double about) const {
  double sum = 0;
  for (std::int64_t k = begin; k < begin + n; ++k) {
    const std::int64_t from = permutation_.empty() ? k : permutation_[static_cast<std::size_t>(k)];
    const double off = a_[row][from] * b_[row][from] - about;
    sum += off * off;
  }
  return sum / static_cast<double>(n);
}

}  // namespace parity
