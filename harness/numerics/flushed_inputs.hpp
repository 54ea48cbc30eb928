#pragma once
#include "harness/numerics/matrix_product.hpp"

namespace parity {

/// What may go missing when a device reads inputs with |x| < `below` as zero: adds, for every finite element
/// of v = a b, sum |a||b| over the products with such a factor to `hard` and `systematic`. Costs nothing to
/// speak of when few inputs are that small. Arrays are row-major and contiguous.
void add_flushed_inputs(const MatrixView<double>& a, const MatrixView<double>& b, double below,
                        const double* v, double* hard, double* systematic);

/// What a multi-term adder loses more when inputs are subnormal in a format whose smallest normal number is
/// `normal`: it aligns by exponents that are not normalised, as if such an input were `normal`. Adds factor *
/// (sum of products so enlarged - sum |a||b|) to `hard` and `systematic` of every finite element.
void add_unnormalised_inputs(const MatrixView<double>& a, const MatrixView<double>& b, double normal,
                             double factor, const double* v, double* hard, double* systematic);

}  // namespace parity
