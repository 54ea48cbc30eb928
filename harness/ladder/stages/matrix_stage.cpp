#include "harness/ladder/stages/matrix_stage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/base/nearest.hpp"

namespace parity {

bool exact_factor(double factor) {
  if (factor == 0) return true;
  int exponent = 0;
  return std::abs(std::frexp(factor, &exponent)) == 0.5 && exponent >= -2 && exponent <= 4;
}

TensorSpec matrix_spec(std::string name, DType dtype, std::int64_t batch, std::int64_t rows,
                       std::int64_t cols, std::int64_t pad, TensorSpec::Role role) {
  TensorSpec spec{std::move(name), dtype, {rows, cols}, {}, role};
  if (batch != 1) spec.shape.insert(spec.shape.begin(), batch);
  spec.strides = leading_strides(spec.shape, cols + pad);
  return spec;
}

Result<Tensor> fill_matrix(const Case& c, const TensorSpec& spec, FillRole role, int axis,
                           std::uint32_t stream, bool holds_nan) {
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  FillRequest request;
  request.fill = c.fill;
  request.role = role;
  request.seed = c.seed;
  request.stream = stream;
  request.reduction_axis = axis < 0 ? -1 : static_cast<int>(spec.shape.size()) - 2 + axis;
  request.reduction_length = std::max<std::int64_t>(1, c.parameters.integer("k", 1));
  request.accumulate = c.accumulate;
  request.store = c.store;
  request.holds_nan = holds_nan && c.fill == Fill::nan_cone;
  fill_tensor(*tensor, request);
  return tensor;
}

Result<MatrixShape> matrix_shape(const std::string& name, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.size() == 2) return MatrixShape{1, shape[0], shape[1]};
  if (shape.size() == 3) return MatrixShape{shape[0], shape[1], shape[2]};
  return bad_input(fmt::format("input '{}' has shape {}; a matrix [rows, cols] or a batch of them is wanted",
                               name, to_string(shape)));
}

Result<void> check_names(const std::map<std::string, Tensor>& inputs,
                         const std::vector<std::string_view>& known) {
  for (const auto& [name, tensor] : inputs)
    if (std::ranges::find(known, name) == known.end())
      return bad_input(fmt::format("no input is called '{}'; there is {}{}", name, fmt::join(known, ", "),
                                   suggestion(name, known)));
  return {};
}

}  // namespace parity
