#pragma once
#include <cstdint>
#include <vector>

#include "harness/numerics/arithmetic_model.hpp"
#include "harness/numerics/summation_tree.hpp"

namespace parity {

/// The tree in which `accumulation` adds K = `terms` terms (its products are the terms). Two accumulations
/// may have one tree: a tree says nothing about fma against a rounded product, nor about fraction bits.
/// Errors as plan_summation's; of Kind::tree also when the tree has another number of terms.
Result<SummationTree> tree_of(const Accumulation& accumulation, std::int64_t terms);

/// The accumulations, without Kind::tree and Kind::permuted, that add in this tree: sequential first, then
/// reversed, pairwise, strided, blocked and split_k, with the smallest widths first. multiply_add is `fused`
/// for trees of additions of two, else `multi_term` with adder.terms as the tree has it and the default
/// fraction bits. Empty for any other tree.
std::vector<Accumulation> accumulations_like(const SummationTree& tree);

}  // namespace parity
