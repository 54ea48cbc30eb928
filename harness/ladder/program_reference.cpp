#include "harness/ladder/program_reference.hpp"

#include <fmt/format.h>

#include <chrono>

#include "harness/numerics/passing_arithmetic.hpp"
#include "harness/numerics/value_access.hpp"
#include "harness/numerics/value_shape.hpp"

namespace parity {

namespace {

/// An arithmetic whose `load` hands out values computed before instead of the (empty) tensors that stand for
/// them.
class LinkedArithmetic final : public PassingArithmetic {
 public:
  LinkedArithmetic(Arithmetic& inner, const std::map<const Tensor*, const Value*>& links)
      : PassingArithmetic(inner), links_(links) {}
  Value load(const Tensor& tensor) override {
    const auto found = links_.find(&tensor);
    return found == links_.end() ? inner().load(tensor) : *found->second;
  }

 private:
  const std::map<const Tensor*, const Value*>& links_;
};

/// Index, in row-major order of the root's elements, of each element of a view.
std::vector<std::int64_t> places_in_root(const TensorSpec& view, const TensorSpec& root) {
  const std::int64_t root_cols = root.shape.back();
  const std::int64_t root_stride =
      root.shape.size() > 1 ? root.strides[root.shape.size() - 2] : root.strides[0];
  std::int64_t elements = 1;
  for (const std::int64_t size : view.shape) elements *= size;
  std::vector<std::int64_t> places(static_cast<std::size_t>(elements));
  const std::int64_t cols = view.shape.back();
  for (std::int64_t i = 0; i < elements; ++i) {
    if (root.shape.size() == 1) {  // a vector with gaps
      places[static_cast<std::size_t>(i)] = (view.view_offset + i * view.strides.back()) / root_stride;
      continue;
    }
    const std::int64_t at = view.view_offset +
                            (view.shape.size() > 1 ? i / cols * view.strides[view.shape.size() - 2] : 0) +
                            i % cols;
    places[static_cast<std::size_t>(i)] = at / root_stride * root_cols + at % root_stride;
  }
  return places;
}

/// The values of a program's tensors as they come to be: whole, in parts, or as parts of others.
class Values {
 public:
  Values(const Program& program, std::map<TensorId, Value>& values) : program_(program), values_(values) {}

  Result<const Value*> get(TensorId id) {
    if (const auto found = values_.find(id); found != values_.end()) return &found->second;
    const TensorSpec& spec = program_.spec(id);
    if (spec.is_view()) {
      const auto root = values_.find(spec.view_of);
      if (root == values_.end()) return missing(spec);
      const auto places = places_in_root(spec, program_.spec(spec.view_of));
      const Value flat = reshape(root->second, 1, root->second.size(), 1);
      return keep(id, reshape(take_rows(flat, places), 1, rows_of(spec), spec.shape.back()));
    }
    return assemble(id);
  }

  void put(TensorId id, Value value) {
    values_.insert_or_assign(id, std::move(value));
    if (program_.spec(id).is_view()) parts_[program_.spec(id).view_of].push_back(id);
  }

 private:
  static std::int64_t rows_of(const TensorSpec& spec) {
    return spec.shape.size() > 1 ? spec.shape[spec.shape.size() - 2] : 1;
  }
  static tl::unexpected<Error> missing(const TensorSpec& spec) {
    return fail(ErrorKind::internal, fmt::format("tensor '{}' has no value yet", spec.name));
  }
  const Value* keep(TensorId id, Value value) {
    return &values_.insert_or_assign(id, std::move(value)).first->second;
  }

  /// A root from the views that were written.
  Result<const Value*> assemble(TensorId id) {
    const TensorSpec& spec = program_.spec(id);
    const auto parts = parts_.find(id);
    if (parts == parts_.end()) return missing(spec);
    std::vector<Value> flat;
    std::vector<std::int64_t> source;  // element of the root -> row of the concatenation
    source.assign(static_cast<std::size_t>(rows_of(spec) * spec.shape.back()), -1);
    std::int64_t next = 0;
    for (const TensorId part : parts->second) {
      const Value& value = values_.at(part);
      for (const std::int64_t place : places_in_root(program_.spec(part), spec))
        source.at(static_cast<std::size_t>(place)) = next++;
      flat.push_back(reshape(value, 1, value.size(), 1));
    }
    for (const std::int64_t at : source)
      if (at < 0) return missing(spec);
    return keep(id, reshape(take_rows(concat_rows(flat), source), 1, rows_of(spec), spec.shape.back()));
  }

  const Program& program_;
  std::map<TensorId, Value>& values_;
  std::map<TensorId, std::vector<TensorId>> parts_;
};

}  // namespace

Result<ProgramEvaluation> evaluate_program(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const std::map<TensorId, Value>& carried,
                                           const MakeArithmetic& make, const ReplacedValues& replaced) {
  using Clock = std::chrono::steady_clock;
  ProgramEvaluation evaluation;
  Values values(program, evaluation.values);
  for (const auto& [id, tensor] : inputs) {
    const auto own = carried.find(id);
    values.put(id, own == carried.end() ? load_value(tensor) : own->second);
  }
  for (std::size_t index = 0; index < program.calls.size(); ++index) {
    const OpCall& call = program.calls[index];
    const Op* op = ops.find(call.op);
    if (op == nullptr) return bad_input(fmt::format("no op is called '{}'", call.op));
    auto arithmetic = make(index);
    if (!arithmetic) return tl::unexpected(arithmetic.error());
    std::vector<Tensor> stand_ins(call.inputs.size());
    std::map<const Tensor*, const Value*> links;
    PortTensors ports(call.inputs.size(), nullptr);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const TensorId id = call.inputs[i];
      if (id == no_tensor) continue;
      const TensorSpec& spec = program.spec(id);
      if (!is_float(spec.dtype)) {  // indices are read from the tensor itself
        const auto found = inputs.find(id);
        if (found == inputs.end())
          return fail(ErrorKind::internal, fmt::format("'{}' is no input of the program", spec.name));
        ports[i] = &found->second;
        continue;
      }
      const auto value = values.get(id);
      if (!value) return tl::unexpected(value.error());
      auto stand_in = Tensor::create(spec.dtype, spec.shape);
      if (!stand_in) return tl::unexpected(stand_in.error());
      stand_ins[i] = *std::move(stand_in);
      links.emplace(&stand_ins[i], *value);
      ports[i] = &stand_ins[i];
    }
    LinkedArithmetic linked(**arithmetic, links);
    const auto start = Clock::now();
    auto results = op->evaluate(linked, call.attributes, ports);
    if (!results) return tl::unexpected(results.error());
    evaluation.call_seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const TensorId id = call.outputs[i];
      const auto instead = replaced.find(id);
      values.put(id, instead != replaced.end() ? instead->second
                                               : (*arithmetic)->store((*results)[i], program.spec(id).dtype));
    }
  }
  // Results that were only written in parts.
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].role == TensorSpec::Role::output && !program.tensors[i].is_view())
      if (auto whole = values.get(static_cast<TensorId>(i)); !whole) return tl::unexpected(whole.error());
  return evaluation;
}

Result<ProgramEvaluation> evaluate_exactly(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const std::map<TensorId, Value>& carried,
                                           const ReplacedValues& replaced) {
  return evaluate_program(
      ops, program, inputs, carried,
      [](std::size_t) -> Result<std::unique_ptr<Arithmetic>> { return make_exact_arithmetic(); }, replaced);
}

std::map<TensorId, Value> carried_values(const Program& program, const ProgramEvaluation& evaluation) {
  std::map<TensorId, Value> carried;
  for (const Carry& carry : program.carries) carried.emplace(carry.to, evaluation.values.at(carry.from));
  return carried;
}

}  // namespace parity
