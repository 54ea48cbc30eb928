#include "harness/numerics/arithmetic_model.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "harness/numerics/summation_tree.hpp"

namespace parity {
namespace {

constexpr std::array<std::pair<Function, std::string_view>, 9> function_names{{
    {Function::identity, "identity"},
    {Function::relu, "relu"},
    {Function::leaky_relu_squared, "leaky_relu_squared"},
    {Function::sigmoid, "sigmoid"},
    {Function::tanh, "tanh"},
    {Function::exp, "exp"},
    {Function::log, "log"},
    {Function::sqrt, "sqrt"},
    {Function::inverse_sqrt, "inverse_sqrt"},
}};

std::string describe(const SummationOrder& order) {
  using Kind = SummationOrder::Kind;
  switch (order.kind) {
    case Kind::sequential:
      return "sequential";
    case Kind::reversed:
      return "reversed";
    case Kind::pairwise:
      return "pairwise";
    case Kind::blocked:
      return fmt::format("blocked {}", order.width);
    case Kind::split_k:
      return fmt::format("split-K {}", order.width);
    case Kind::strided:
      return fmt::format("strided {}", order.width);
    case Kind::permuted:
      return fmt::format("permuted seed {}", order.seed);
    case Kind::tree:
      return order.tree ? fmt::format("tree {}", order.tree->hash_text()) : "tree (none given)";
  }
  return "unknown order";
}

std::string_view describe(Denormals denormals) {
  switch (denormals) {
    case Denormals::preserve:
      return "preserved";
    case Denormals::flush:
      return "flushed";
    case Denormals::either:
      return "preserved or flushed";
  }
  return "unknown";
}

}  // namespace

std::string_view name_of(Function function) {
  for (const auto& [value, name] : function_names) {
    if (value == function) return name;
  }
  return "unknown";
}

std::optional<Function> parse_function(std::string_view text) {
  for (const auto& [value, name] : function_names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

std::string to_string(const Accumulation& accumulation) {
  const std::string order = describe(accumulation.order);
  switch (accumulation.multiply_add) {
    case MultiplyAdd::fused:
      return order + " fma";
    case MultiplyAdd::separate:
      return order + " mul+add";
    case MultiplyAdd::multi_term:
      return fmt::format("{}, fused {}+1 F{}{}", order, accumulation.adder.terms,
                         accumulation.adder.fraction_bits,
                         accumulation.adder.rounding == Rounding::nearest_even ? " to nearest" : "");
  }
  return order;
}

ArithmeticModel integer_model() {
  ArithmeticModel model;
  model.precision = {DType::i8, format_of(DType::i8), DType::i32, DType::i32, DType::i32};
  // Any order would do; a definite one says that the bits are known.
  model.accumulation = Accumulation{};
  return model;
}

std::string to_string(const ArithmeticModel& model) {
  const Precision& p = model.precision;
  if (sums_integers(model))
    return fmt::format("{} -> {} -> {}, modulo 2^32, exact in any order", name_of(p.input),
                       name_of(p.accumulate), name_of(p.store));
  std::string text = std::string(name_of(p.input));
  if (!is_float(p.input) || p.multiply != format_of(p.input))
    text += fmt::format(" {} {}", model.multiply_rounding == Rounding::toward_zero ? "cut to" : "as",
                        name_of(p.multiply));
  text += fmt::format(" -> {} -> {}", name_of(p.accumulate), name_of(p.store));
  if (p.scratch != DType::f32) text += fmt::format(", scratch {}", name_of(p.scratch));
  text += ", ";
  if (model.accumulation) {
    text += to_string(*model.accumulation);
  } else {
    text += "unknown order";
    if (model.may_truncate)
      text += fmt::format(", perhaps a truncating adder of {} terms", model.adder_terms);
  }
  if (model.contract_epilogue) text += ", contracted epilogue";
  if (model.denormals != Denormals::preserve)
    text += fmt::format(", denormals {}", describe(model.denormals));
  if (!model.store_rounding_known) {
    text += ", store rounding unknown";
  } else if (model.store_rounding == Rounding::toward_zero) {
    text += ", store toward zero";
  }
  return text;
}

}  // namespace parity
