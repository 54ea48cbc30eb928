#pragma once
#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/matrix_product.hpp"

namespace parity {

/// c = a b by the additions of model.accumulation->order.tree, which has a.cols terms; a and b hold numbers
/// of the multiply format, c is row-major and contiguous. What a tree leaves open is filled in as kernels
/// have it:
/// - fused or separate: a term that joins a sum does so by one multiply-add; of two terms that meet, the one
///   further from the next term up the tree is the first of its chain (its product is rounded);
/// - multi_term: an addition that has a term among its children, or more than two children, is a step of the
///   adder (adder.fraction_bits); an addition of two sums is one in the accumulate format, rounded to
///   nearest. Where the adder takes one product less (adder.terms) than an addition of products alone has,
///   its first product came as the sum, from a step of its own: kernels begin with what is left over of K.
/// `by_lanes`: the adder's steps in integer lanes where these hold the numbers (adder_lanes.hpp); the bits
/// are the same without.
void tree_matmul(const ArithmeticModel& model, const MatrixView<double>& a, const MatrixView<double>& b,
                 double* c, bool by_lanes = true);

}  // namespace parity
