#include "harness/ladder/op.hpp"

#include <fmt/format.h>

#include <set>

namespace parity {

namespace {

bool valid(TensorId id, const Program& program) {
  return id >= 0 && static_cast<std::size_t>(id) < program.tensors.size();
}

Result<std::vector<std::optional<Shape>>> input_shapes(const Op& op, const OpCall& call,
                                                       const Program& program) {
  std::vector<std::optional<Shape>> shapes;
  for (std::size_t i = 0; i < op.inputs().size(); ++i) {
    const Port& port = op.inputs()[i];
    const TensorId id = i < call.inputs.size() ? call.inputs[i] : no_tensor;
    if (id == no_tensor) {
      if (!port.optional) return bad_input(fmt::format("{}: input '{}' is missing", op.name(), port.name));
      shapes.emplace_back();
    } else if (!valid(id, program)) {
      return bad_input(fmt::format("{}: input '{}' names tensor {}, the program has {}", op.name(), port.name,
                                   id, program.tensors.size()));
    } else {
      shapes.emplace_back(program.spec(id).shape);
    }
  }
  return shapes;
}

}  // namespace

Result<void> Op::gradient(const OpCall&, GradientBuilder&) const {
  return fail(ErrorKind::unsupported, fmt::format("{} has no gradient rule", name()));
}

Result<void> check_call(const Op& op, const OpCall& call, const Program& program) {
  if (call.inputs.size() > op.inputs().size())
    return bad_input(
        fmt::format("{}: {} inputs given, it has {}", op.name(), call.inputs.size(), op.inputs().size()));
  if (call.outputs.size() != op.outputs().size())
    return bad_input(
        fmt::format("{}: {} outputs given, it has {}", op.name(), call.outputs.size(), op.outputs().size()));
  auto shapes = input_shapes(op, call, program);
  if (!shapes) return tl::unexpected(shapes.error());
  auto inferred = op.infer(call.attributes, *shapes);
  if (!inferred) return tl::unexpected(inferred.error());
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!valid(call.outputs[i], program))
      return bad_input(fmt::format("{}: output '{}' names no tensor", op.name(), op.outputs()[i].name));
    const TensorSpec& spec = program.spec(call.outputs[i]);
    if (spec.shape != (*inferred)[i])
      return bad_input(fmt::format("{}: output '{}' has shape {}, the inputs give {}", op.name(),
                                   op.outputs()[i].name, to_string(spec.shape), to_string((*inferred)[i])));
  }
  return {};
}

Result<void> check_program(const OpTable& ops, const Program& program) {
  std::set<TensorId> written;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const auto role = program.tensors[i].role;
    if (role == TensorSpec::Role::input || role == TensorSpec::Role::state)
      written.insert(static_cast<TensorId>(i));
  }
  for (const OpCall& call : program.calls) {
    const Op* op = ops.find(call.op);
    if (op == nullptr) return bad_input(fmt::format("no op is called '{}'", call.op));
    if (auto ok = check_call(*op, call, program); !ok) return ok;
    for (const TensorId id : call.inputs)
      if (id != no_tensor && !written.contains(id))
        return bad_input(
            fmt::format("{}: tensor '{}' is read before anything writes it", call.op, program.spec(id).name));
    for (const TensorId id : call.outputs) {
      if (program.spec(id).role == TensorSpec::Role::input)
        return bad_input(fmt::format("{}: writes the input tensor '{}'", call.op, program.spec(id).name));
      written.insert(id);
    }
  }
  return {};
}

}  // namespace parity
