#pragma once
#include <cstdint>
#include <vector>

#include "harness/numerics/scaled_operand.hpp"

namespace parity {

/// A rectangle of outputs, [row, row + rows) x [col, col + cols), in matrices of `leading` columns.
struct Tile {
  std::int64_t row, col, rows, cols, leading;
};

/// The sums of a product's terms p that its error bounds are made of, tile by tile, from any thread.
/// Magnitudes and squares are scaled so that fp32 holds them: the sum of |p| is the number given times
/// row_scale(i) col_scales()[j], that of p^2 times its square.
class TermSums {
 public:
  virtual ~TermSums() = default;
  virtual double row_scale(std::int64_t row) const = 0;
  virtual const double* col_scales() const = 0;
  /// Sums of |p| over the whole reduction, tile.rows x tile.cols of them.
  virtual void magnitudes(const Tile& tile, float* into) const = 0;
  /// Sums of p and of p^2 over the terms [begin, begin + n), in the order of the plan.
  virtual void stretch(const Tile& tile, std::int64_t begin, std::int64_t n, double* products,
                       float* squares) const = 0;
  /// Mean of (p - about)^2 over the same terms of one output, in fp64.
  virtual double scatter(std::int64_t row, std::int64_t col, std::int64_t begin, std::int64_t n,
                         double about) const = 0;
};

/// Of a product of matrices.
class MatrixSums final : public TermSums {
 public:
  MatrixSums(const MatrixView<double>& a, const MatrixView<double>& b);
  double row_scale(std::int64_t row) const override {
    return scaled_a_.unscale[static_cast<std::size_t>(row)];
  }
  const double* col_scales() const override { return scaled_b_.unscale.data(); }
  void magnitudes(const Tile& tile, float* into) const override;
  void stretch(const Tile& tile, std::int64_t begin, std::int64_t n, double* products,
               float* squares) const override;
  double scatter(std::int64_t row, std::int64_t col, std::int64_t begin, std::int64_t n,
                 double about) const override;

 private:
  MatrixView<double> a_, b_;
  ScaledOperand scaled_a_, scaled_b_;
};

/// Many vectors, each without gaps; vector i begins at data + i * step (0: all are the same one).
struct Vectors {
  const double* data = nullptr;
  std::int64_t step = 0;
  const double* operator[](std::int64_t i) const { return data + i * step; }
};

/// Of `count` scalar products, taken as a result of `count` rows and one column. As products of matrices they
/// would cost some ten microseconds each beside their terms.
class DotSums final : public TermSums {
 public:
  /// `permutation`: the plan's, which outlives this; empty: the terms' own order.
  DotSums(Vectors a, Vectors b, std::int64_t count, std::int64_t terms,
          const std::vector<std::int64_t>& permutation);
  double row_scale(std::int64_t row) const override { return scales_[static_cast<std::size_t>(row)]; }
  const double* col_scales() const override { return &one_; }
  void magnitudes(const Tile& tile, float* into) const override;
  void stretch(const Tile& tile, std::int64_t begin, std::int64_t n, double* products,
               float* squares) const override;
  double scatter(std::int64_t row, std::int64_t col, std::int64_t begin, std::int64_t n,
                 double about) const override;

 private:
  Vectors a_, b_;
  const std::vector<std::int64_t>& permutation_;
  std::vector<double> scales_;
  std::vector<float> magnitudes_;
  double one_ = 1;
};

}  // namespace parity
