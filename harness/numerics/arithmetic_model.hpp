#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/dtype.hpp"

namespace parity {

/// Where which format is used on the way from input to output (accumulator to fp32 scratch,
/// bias and activation in fp32, conversion at the final store).
struct Precision {
  DType input = DType::f32;
  FloatFormat multiply = format_of(DType::f32);  ///< inputs are rounded to it before they are multiplied
  DType accumulate = DType::f32;
  DType scratch = DType::f32;  ///< intermediates between accumulation and store
  DType store = DType::f32;
  friend bool operator==(const Precision&, const Precision&) = default;
};

class SummationTree;

/// The order in which the K terms of one reduction are added.
struct SummationOrder {
  enum class Kind : std::uint8_t {
    sequential,  ///< k = 0, 1, ..., K-1 into one accumulator
    reversed,    ///< k = K-1, ..., 0
    pairwise,    ///< balanced binary tree over adjacent halves (the left half gets the larger power of two)
    blocked,     ///< chains of `width` terms, each from zero; the partial sums are added in sequence
    split_k,     ///< `width` contiguous parts of ceil(K/width) terms, each a chain; parts added in sequence
    strided,     ///< `width` lanes, lane l takes k = l, l + width, ...; lanes added pairwise (halving tree)
    permuted,    ///< sequential over a seeded permutation of k
    tree,        ///< any other order: `tree`, for the K it has terms for (emulated arithmetic only)
  };
  Kind kind = Kind::sequential;
  std::int64_t width = 0;
  std::uint64_t seed = 0;
  std::shared_ptr<const SummationTree> tree = {};  ///< read for Kind::tree only; compared by identity
  friend bool operator==(const SummationOrder&, const SummationOrder&) = default;
};

/// How one product meets the accumulator.
enum class MultiplyAdd : std::uint8_t {
  fused,       ///< fma(a, b, s): one rounding
  separate,    ///< the product is rounded, then the sum
  multi_term,  ///< a tensor core's adder: `terms` products and the accumulator aligned, truncated, summed
               ///< exactly
};

/// A tensor core's multi-term adder (docs/numerics.md, section 2): products are exact, their exponent is the
/// sum of their operands' exponents; every term is truncated toward zero to 2^(emax - fraction_bits), summed
/// exactly and the sum rounded to the accumulate format: cut toward zero to fp32, to nearest even to fp16, as
/// published of tensor cores. Hopper fp16 and bf16: 16 terms + accumulator, 25 bits.
struct MultiTermAdder {
  int terms = 16;
  int fraction_bits = 25;
  Rounding rounding = Rounding::toward_zero;  ///< of the sum to the accumulate format
  friend bool operator==(const MultiTermAdder&, const MultiTermAdder&) = default;
};

/// Order and arithmetic of a reduction, to the bit.
struct Accumulation {
  SummationOrder order;
  MultiplyAdd multiply_add = MultiplyAdd::fused;
  MultiTermAdder adder;  ///< read for multi_term only; steps of `terms` products follow `order`
  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};
/// "sequential fma", "split-K 4, fused 16+1 F25", "sequential, fused 16+1 F25 to nearest", ...
std::string to_string(const Accumulation& accumulation);

enum class Denormals : std::uint8_t { preserve, flush, either };

/// Allowed error of an elementwise function: (base + slope * |x|) ULP, i.e. at most 2 (base + slope |x|) u
/// relative, plus `absolute`.
struct FunctionAccuracy {
  double base_ulp = 0;
  double slope_ulp = 0;
  double absolute = 0;
};
inline bool correctly_rounded(const FunctionAccuracy& accuracy) {
  return accuracy.base_ulp == 0 && accuracy.slope_ulp == 0 && accuracy.absolute == 0;
}

/// Elementwise functions of the references.
enum class Function : std::uint8_t {
  identity,
  relu,
  leaky_relu_squared,
  sigmoid,
  tanh,
  exp,
  log,
  sqrt,
  inverse_sqrt,  ///< 1 / sqrt(x)
};
std::string_view name_of(Function function);
std::optional<Function> parse_function(std::string_view text);

/// What is known of a path's arithmetic. The tracked arithmetic derives the contract from it; with a definite
/// `accumulation` and denormal mode the emulated arithmetic computes its bits.
struct ArithmeticModel {
  Precision precision;
  std::optional<Accumulation> accumulation;  ///< absent: the order is unknown
  /// Unknown order only: the adder may be a tensor core's (aligned and truncated, at least 23 fraction bits
  /// and `adder_terms` products a step, its sums cut too) as well as a chain of roundings to nearest.
  bool may_truncate = false;
  int adder_terms = 4;
  bool contract_epilogue = false;  ///< alpha*acc + beta*C is one fma instead of two products and a sum
  Denormals denormals = Denormals::preserve;            ///< of the accumulate format
  Rounding multiply_rounding = Rounding::nearest_even;  ///< input -> multiply format, when narrower
  Rounding store_rounding = Rounding::nearest_even;
  bool store_rounding_known = true;
  /// relu and leaky_relu_squared follow from + and *. An accuracy of zero everywhere means correctly rounded,
  /// for which divide and sqrt have known bits; replay skips results that went through any other function.
  FunctionAccuracy sigmoid, tanh, exp, log, sqrt, inverse_sqrt, divide;
};
std::string to_string(const ArithmeticModel& model);

/// Whether sums are integers modulo 2^32 (int8 products, an int32 accumulator that wraps around): every order
/// gives the same bits, so `accumulation` and the roundings are not read.
inline bool sums_integers(const ArithmeticModel& model) {
  return !is_float(model.precision.accumulate);
}
/// The arithmetic of int8 x int8 -> int32, stored as it is.
ArithmeticModel integer_model();

}  // namespace parity
