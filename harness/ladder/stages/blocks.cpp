#include "harness/ladder/stages/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace parity {

double weight_scale(std::int64_t fan_in) {
  // A whole number of halves: exact on every machine but for the rounding of the logarithm.
  return std::exp2(-std::round(std::log2(static_cast<double>(std::max<std::int64_t>(1, fan_in))) / 2));
}

DType product_dtype(Composer& composer, const Case& c) {
  const DType real = composer.real();
  const bool narrow = real == DType::f32 && (c.input == DType::f16 || c.input == DType::bf16);
  if ((c.input != real && !narrow) || c.accumulate != real || c.store != real)
    composer.fail_with(
        {ErrorKind::bad_input,
         fmt::format("{} has no form with in={} acc={} out={}; there is in={{f32,f16,bf16}} acc=f32 "
                     "out=f32 and in=f64 acc=f64 out=f64",
                     c.stage, name_of(c.input), name_of(c.accumulate), name_of(c.store))});
  return c.input;
}

TensorId Layers::parameter(const std::string& name, const Shape& shape, Content content, DType dtype) {
  const bool trained = weights_ == Weights::trained;
  const TensorId id =
      trained ? composer_.state(name, shape, content) : composer_.input(name, shape, content, dtype);
  parameters_.push_back(id);
  return id;
}

TensorId Layers::matrix(const std::string& name, std::int64_t out, std::int64_t in) {
  Content content{Content::Kind::values, weight_scale(in)};
  content.role = FillRole::right;
  content.axis = 1;
  return as_factor(parameter(name, {out, in}, content, factor_));
}

TensorId Layers::table(const std::string& name, std::int64_t count, std::int64_t width) {
  return parameter(name, {count, width}, {Content::Kind::values, weight_scale(width)}, composer_.real());
}

TensorId Layers::bias(const std::string& name, std::int64_t n, double scale) {
  return parameter(name, {n}, {Content::Kind::values, scale}, composer_.real());
}

TensorId Layers::gain(const std::string& name, std::int64_t n) {
  const bool trained = weights_ == Weights::trained;
  const Content ones{Content::Kind::constant, 1};
  return parameter(name, {n}, trained ? ones : Content{}, composer_.real());
}

TensorId Layers::as_factor(TensorId tensor) {
  if (composer_.failed() || composer_.program().spec(tensor).dtype == factor_) return tensor;
  if (const auto found = factors_.find(tensor); found != factors_.end()) return found->second;
  const std::string name = fmt::format("{}_{}", composer_.program().spec(tensor).name, name_of(factor_));
  const TensorId rounded = composer_.apply("cast", {}, {tensor}, name, factor_);
  factors_.emplace(tensor, rounded);
  return rounded;
}

TensorId Layers::linear(TensorId x, TensorId weight, TensorId bias, const std::string& name) {
  return composer_.apply("linear", {}, {as_factor(x), weight, bias}, name);
}

void Layers::linear_into(TensorId x, TensorId weight, TensorId bias, TensorId y) {
  composer_.call_into("linear", {}, {as_factor(x), weight, bias}, {y});
}

}  // namespace parity
