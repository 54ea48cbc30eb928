#include "references/program_testing.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/ladder/gradient_builder.hpp"

namespace parity {

TensorId HostProgram::add(std::string name, DType dtype, const Shape& shape, TensorSpec::Role role) {
  TensorSpec spec;
  spec.name = fmt::format("{} {}", name, program_.tensors.size());  // names are unique
  spec.dtype = dtype;
  spec.shape = shape;
  spec.strides = contiguous_strides(shape);
  spec.role = role;
  program_.tensors.push_back(std::move(spec));
  return static_cast<TensorId>(program_.tensors.size()) - 1;
}

TensorId HostProgram::input(const std::string& name, Tensor tensor) {
  const TensorId id = add(name, tensor.dtype(), tensor.shape(), TensorSpec::Role::input);
  tensors_[id] = std::move(tensor);
  return id;
}

std::vector<TensorId> HostProgram::call(const std::string& name, const Attributes& attributes,
                                        const std::vector<TensorId>& inputs) {
  const Op* op = ops_.find(name);
  EXPECT_NE(op, nullptr) << name;
  if (op == nullptr) return std::vector<TensorId>(8, no_tensor);
  std::vector<std::optional<Shape>> shapes;
  for (const TensorId id : inputs)
    shapes.push_back(id == no_tensor ? std::nullopt : std::optional(program_.spec(id).shape));
  shapes.resize(op->inputs().size());
  const auto outputs = op->infer(attributes, shapes);
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  if (!outputs) return std::vector<TensorId>(op->outputs().size(), no_tensor);
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < outputs->size(); ++i)
    ids.push_back(
        add(std::string(op->outputs()[i].name), DType::f64, (*outputs)[i], TensorSpec::Role::output));
  program_.calls.push_back({name, attributes, inputs, ids});
  return ids;
}

std::map<TensorId, TensorId> HostProgram::backward(TensorId output, Tensor gradient,
                                                   const std::vector<TensorId>& wanted) {
  const TensorId seed = input("seed", std::move(gradient));
  auto gradients = add_backward(ops_, program_, {{output, seed}}, wanted);
  EXPECT_TRUE(gradients.has_value()) << (gradients ? "" : gradients.error().message);
  if (!gradients) return {};
  const auto legal = check_program(ops_, program_);
  EXPECT_TRUE(legal.has_value()) << (legal ? "" : legal.error().message);
  return *gradients;
}

Result<void> HostProgram::run() {
  const auto exact = make_exact_arithmetic();
  for (const OpCall& call : program_.calls) {
    const Op* op = ops_.find(call.op);
    if (op == nullptr) return bad_input(fmt::format("no op is called '{}'", call.op));
    PortTensors ports;
    for (const TensorId id : call.inputs) ports.push_back(id == no_tensor ? nullptr : &tensors_.at(id));
    ports.resize(op->inputs().size(), nullptr);
    const auto values = op->evaluate(*exact, call.attributes, ports);
    if (!values) return tl::unexpected(values.error());
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const TensorSpec& spec = program_.spec(call.outputs[i]);
      auto tensor = Tensor::create(spec.dtype, spec.shape);
      if (!tensor) return tl::unexpected(tensor.error());
      const std::vector<double>& v = (*values)[i].v;
      if (static_cast<std::int64_t>(v.size()) != tensor->elements())
        return fail(ErrorKind::internal, fmt::format("{}: output {} has {} elements, its shape is {}",
                                                     call.op, i, v.size(), to_string(spec.shape)));
      for (std::size_t e = 0; e < v.size(); ++e) tensor->set_value(static_cast<std::int64_t>(e), v[e]);
      tensors_[call.outputs[i]] = std::move(*tensor);
    }
  }
  return {};
}

std::vector<double> HostProgram::values(TensorId id) const {
  const Tensor& tensor = tensors_.at(id);
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values[static_cast<std::size_t>(i)] = tensor.value(i);
  return values;
}

}  // namespace parity
