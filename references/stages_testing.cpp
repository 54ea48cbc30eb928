#include "references/stages_testing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace parity {

StageRun::StageRun(const std::string& case_text) : ops_(make_op_table()), stages_(make_stage_table(ops_)) {
  load(case_text);
}

void StageRun::load(const std::string& case_text) {
  SCOPED_TRACE(case_text);
  const auto parsed = parse_case(case_text, stages_);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  case_ = *parsed;
  const Stage& stage = *stages_.find(case_.stage);
  auto program = stage.build(case_);
  ASSERT_TRUE(program.has_value()) << program.error().message;
  program_ = *std::move(program);
  const auto checked = check_program(ops_, program_);
  ASSERT_TRUE(checked.has_value()) << checked.error().message;
  for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const TensorSpec& spec = program_.spec(id);
    if (spec.is_view()) continue;
    std::int64_t extent = 0;
    for (const std::int64_t place : places(spec)) extent = std::max(extent, place + 1);
    memory_[id].assign(static_cast<std::size_t>(extent), std::numeric_limits<double>::quiet_NaN());
    if (spec.role != TensorSpec::Role::input) continue;
    const auto filled = stage.fill(case_, program_, id);
    ASSERT_TRUE(filled.has_value()) << filled.error().message;
    std::vector<double> values;
    for (std::int64_t e = 0; e < filled->elements(); ++e) values.push_back(filled->value(e));
    set(spec.name, values);
  }
}

TensorId StageRun::root(TensorId id) const {
  return program_.spec(id).is_view() ? program_.spec(id).view_of : id;
}

TensorId StageRun::id_of(const std::string& name) const {
  const auto id = program_.find(name);
  EXPECT_TRUE(id.has_value()) << "no tensor is called " << name;
  return id.value_or(0);
}

std::vector<std::int64_t> StageRun::places(const TensorSpec& spec) const {
  std::vector<std::int64_t> out{spec.view_offset};
  for (std::size_t axis = 0; axis < spec.shape.size(); ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : out)
      for (std::int64_t i = 0; i < spec.shape[axis]; ++i) next.push_back(at + i * spec.strides[axis]);
    out = std::move(next);
  }
  return out;
}

std::vector<double> StageRun::get(const std::string& name) const {
  const TensorId id = id_of(name);
  std::vector<double> values;
  for (const std::int64_t place : places(program_.spec(id)))
    values.push_back(memory_.at(root(id))[static_cast<std::size_t>(place)]);
  return values;
}

void StageRun::set(const std::string& name, const std::vector<double>& values) {
  const TensorId id = id_of(name);
  const auto at = places(program_.spec(id));
  ASSERT_EQ(at.size(), values.size()) << name;
  for (std::size_t i = 0; i < at.size(); ++i)
    memory_.at(root(id))[static_cast<std::size_t>(at[i])] = values[i];
}

Tensor StageRun::read(TensorId id) const {
  const TensorSpec& spec = program_.spec(id);
  Tensor tensor = *Tensor::create(spec.dtype, spec.shape);
  const auto at = places(spec);
  for (std::size_t i = 0; i < at.size(); ++i)
    tensor.set_value(static_cast<std::int64_t>(i), memory_.at(root(id))[static_cast<std::size_t>(at[i])]);
  return tensor;
}

void StageRun::write(TensorId id, const Value& value) {
  const TensorSpec& spec = program_.spec(id);
  const auto at = places(spec);
  ASSERT_EQ(at.size(), value.v.size()) << spec.name;
  Tensor rounded = *Tensor::create(spec.dtype, {1});  // to the dtype that is stored
  for (std::size_t i = 0; i < at.size(); ++i) {
    rounded.set_value(0, value.v[i]);
    memory_.at(root(id))[static_cast<std::size_t>(at[i])] = rounded.value(0);
  }
}

void StageRun::run() {
  const auto exact = make_exact_arithmetic();
  for (const OpCall& call : program_.calls) {
    std::vector<Tensor> tensors;
    for (const TensorId id : call.inputs) tensors.push_back(id == no_tensor ? Tensor{} : read(id));
    PortTensors ports;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      ports.push_back(call.inputs[i] == no_tensor ? nullptr : &tensors[i]);
    const auto values = ops_.find(call.op)->evaluate(*exact, call.attributes, ports);
    ASSERT_TRUE(values.has_value()) << call.op << ": " << values.error().message;
    ASSERT_EQ(values->size(), call.outputs.size()) << call.op;
    for (std::size_t i = 0; i < values->size(); ++i) write(call.outputs[i], (*values)[i]);
  }
}

}  // namespace parity
