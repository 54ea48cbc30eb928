#pragma once
#include "harness/numerics/product_form.hpp"

namespace parity {

/// How far the partial sums of a product lie from those of random terms: the mean of 4^floor(log2 |s|) over
/// all partial sums s, in the order of the reduction, over its expectation 0.541 (y^2/3 + V/6) a step (y the
/// whole sum, V the sum of its squared terms), both summed over a grid of at most 32 x 32 elements spread
/// evenly over the result; at least 1. Sums that grow far beyond their end (a band of one sign after another)
/// have a large one. Finite inputs; 1 for an empty product.
double path_factor(const ProductForm& form);

}  // namespace parity
