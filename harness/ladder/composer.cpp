#include "harness/ladder/composer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/ladder/gradient_builder.hpp"

namespace parity {

namespace {

/// Columns rounded up so that every row starts on view_alignment.
std::int64_t aligned_columns(std::int64_t cols, DType dtype) {
  const auto step = view_alignment / static_cast<std::int64_t>(size_of(dtype));
  return (std::max<std::int64_t>(cols, 1) + step - 1) / step * step;
}

}  // namespace

void Composer::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
}

TensorId Composer::add(TensorSpec spec) {
  if (error_) return 0;
  // Looking through all of them for each would take long in a program of many timesteps. The backward pass
  // adds its own.
  for (; named_ < program_.tensors.size(); ++named_) names_.insert(program_.tensors[named_].name);
  if (names_.contains(spec.name))
    fail_with({ErrorKind::internal, fmt::format("two tensors are called '{}'", spec.name)});
  if (spec.strides.empty()) spec.strides = contiguous_strides(spec.shape);
  program_.tensors.push_back(std::move(spec));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

TensorId Composer::input(const std::string& name, const Shape& shape, Content content,
                         std::optional<DType> dtype) {
  TensorSpec spec{name, dtype.value_or(real_), shape, {}, TensorSpec::Role::input};
  spec.content = content;
  return add(std::move(spec));
}

TensorId Composer::state(const std::string& name, const Shape& shape, Content content,
                         std::optional<DType> dtype) {
  TensorSpec spec{name, dtype.value_or(real_), shape, {}, TensorSpec::Role::state};
  spec.content = content;
  return add(std::move(spec));
}

std::vector<TensorId> Composer::call(const std::string& op, Attributes attributes,
                                     std::vector<TensorId> inputs, const std::vector<std::string>& names,
                                     std::optional<DType> dtype) {
  std::vector<TensorId> outputs(names.size(), 0);
  if (error_) return outputs;
  const Op* found = ops_.find(op);
  if (found == nullptr) {
    fail_with({ErrorKind::internal, fmt::format("no op is called '{}'", op)});
    return outputs;
  }
  std::vector<std::optional<Shape>> shapes;
  for (const TensorId id : inputs)
    shapes.push_back(id == no_tensor ? std::nullopt : std::optional(shape(id)));
  const auto inferred = found->infer(attributes, shapes);
  if (!inferred) {
    fail_with(inferred.error());
    return outputs;
  }
  if (inferred->size() != names.size()) {
    fail_with({ErrorKind::internal,
               fmt::format("{} has {} outputs, {} are named", op, inferred->size(), names.size())});
    return outputs;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    outputs[i] = add({names[i], dtype.value_or(real_), (*inferred)[i], {}, TensorSpec::Role::intermediate});
  call_into(op, std::move(attributes), std::move(inputs), outputs);
  return outputs;
}

TensorId Composer::apply(const std::string& op, Attributes attributes, std::vector<TensorId> inputs,
                         const std::string& name, std::optional<DType> dtype) {
  return call(op, std::move(attributes), std::move(inputs), {name}, dtype).front();
}

TensorId Composer::intermediate(const std::string& name, const Shape& shape, std::optional<DType> dtype) {
  return add({name, dtype.value_or(real_), shape, {}, TensorSpec::Role::intermediate});
}

void Composer::call_into(const std::string& op, Attributes attributes, std::vector<TensorId> inputs,
                         std::vector<TensorId> outputs) {
  if (error_) return;
  program_.calls.push_back({op, std::move(attributes), std::move(inputs), std::move(outputs)});
}

TensorId Composer::sequence(const std::string& name, std::int64_t rows, std::int64_t cols,
                            std::optional<DType> dtype) {
  TensorSpec spec{name, dtype.value_or(real_), {rows, cols}, {}, TensorSpec::Role::intermediate};
  spec.strides = leading_strides(spec.shape, aligned_columns(cols, spec.dtype));
  return add(std::move(spec));
}

TensorId Composer::rows_of(TensorId tensor, std::int64_t first, std::int64_t rows, const std::string& name,
                           std::int64_t step) {
  if (error_) return 0;
  const TensorSpec root = program_.spec(tensor);
  TensorSpec spec{name, root.dtype, {rows, root.shape.back()}, root.strides, root.role};
  spec.strides.front() *= step;
  spec.view_of = tensor;
  // A view without rows lies nowhere, least of all outside its root.
  spec.view_offset = rows == 0 ? 0 : first * root.strides.front();
  if (spec.view_offset * static_cast<std::int64_t>(size_of(root.dtype)) % view_alignment != 0) {
    fail_with(
        {ErrorKind::internal, fmt::format("row {} of '{}' is not aligned for a view", first, root.name)});
    return 0;
  }
  return add(std::move(spec));
}

TensorId Composer::scalars(const std::string& name, std::int64_t count) {
  TensorSpec spec{name, real_, {count}, {aligned_columns(1, real_)}, TensorSpec::Role::intermediate};
  return add(std::move(spec));
}

TensorId Composer::scalar_of(TensorId scalars, std::int64_t index, const std::string& name) {
  if (error_) return 0;
  const TensorSpec root = program_.spec(scalars);
  TensorSpec spec{name, root.dtype, {1}, {1}, root.role};
  spec.view_of = scalars;
  spec.view_offset = index * root.strides.front();
  return add(std::move(spec));
}

void Composer::output(TensorId tensor) {
  if (error_) return;
  TensorSpec& spec = program_.tensors[static_cast<std::size_t>(tensor)];
  // A gradient may be the seed itself, passed on.
  if (spec.role == TensorSpec::Role::intermediate) spec.role = TensorSpec::Role::output;
}

std::map<TensorId, TensorId> Composer::backward(const std::map<TensorId, TensorId>& seeds,
                                                const std::vector<TensorId>& wanted) {
  std::map<TensorId, TensorId> gradients;
  for (const TensorId id : wanted) gradients.emplace(id, 0);
  if (error_) return gradients;
  auto added = add_backward(ops_, program_, seeds, wanted);
  if (!added) {
    fail_with(added.error());
    return gradients;
  }
  return *std::move(added);
}

Result<Program> Composer::finish(DType accumulate) {
  if (error_) return tl::unexpected(*error_);
  program_.accumulate = accumulate;
  // A view has its root's role.
  for (TensorSpec& spec : program_.tensors)
    if (spec.is_view()) spec.role = program_.spec(spec.view_of).role;
  if (auto ok = check_program(ops_, program_); !ok) return tl::unexpected(ok.error());
  return program_;
}

}  // namespace parity
