#pragma once
#include "harness/numerics/matrix_product.hpp"

namespace parity {

/// What may go missing when a device reads inputs with |x| < `below` as zero: adds, for every finite element
/// of v = a b, sum |a||b| over the products with such a factor to `hard` and `systematic`. Costs nothing to
/// speak of when few inputs are that small. Arrays are row-major and contiguous.
void add_flushed_inputs(const MatrixView<double>& a, const MatrixView<double>& b, double below,
                        const double* v, double* hard, double* systematic);

}  // namespace parity
