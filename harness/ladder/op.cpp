#include "harness/ladder/op.hpp"

#include <fmt/format.h>

#include <map>
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

namespace {

std::int64_t elements_of(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

/// A view must lie in its root, on an address every device can bind.
Result<void> check_view(const TensorSpec& view, const Program& program) {
  if (!valid(view.view_of, program) || program.spec(view.view_of).is_view())
    return bad_input(fmt::format("view '{}': its root is not a tensor of its own", view.name));
  const TensorSpec& root = program.spec(view.view_of);
  if (view.dtype != root.dtype)
    return bad_input(fmt::format("view '{}' is {}, '{}' is {}", view.name, name_of(view.dtype), root.name,
                                 name_of(root.dtype)));
  const auto extent = [](const TensorSpec& spec) {
    const Strides strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < spec.shape.size(); ++i) last += (spec.shape[i] - 1) * strides[i];
    return elements_of(spec.shape) == 0 ? 0 : last + 1;
  };
  if (view.view_offset < 0 || view.view_offset + extent(view) > extent(root))
    return bad_input(fmt::format("view '{}' reaches outside '{}'", view.name, root.name));
  if (view.view_offset * static_cast<std::int64_t>(size_of(view.dtype)) % view_alignment != 0)
    return bad_input(
        fmt::format("view '{}' begins at element {} of '{}'; it must begin on a multiple of {} bytes",
                    view.name, view.view_offset, root.name, view_alignment));
  return {};
}

/// Which tensors hold something: written as themselves, as part of their root, or through views that cover
/// them.
class Written {
 public:
  explicit Written(const Program& program) : program_(program) {}
  void add(TensorId id) {
    const TensorSpec& spec = program_.spec(id);
    if (written_.insert(id).second && spec.is_view()) parts_[spec.view_of] += elements_of(spec.shape);
  }
  bool contains(TensorId id) const {
    const TensorSpec& spec = program_.spec(id);
    if (written_.contains(id) || (spec.is_view() && written_.contains(spec.view_of))) return true;
    const auto parts = parts_.find(id);
    return parts != parts_.end() && parts->second == elements_of(spec.shape);
  }

 private:
  const Program& program_;
  std::set<TensorId> written_;
  std::map<TensorId, std::int64_t> parts_;
};

}  // namespace

Result<void> check_program(const OpTable& ops, const Program& program) {
  Written written(program);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.is_view())
      if (auto ok = check_view(spec, program); !ok) return ok;
    if (spec.role == TensorSpec::Role::input || spec.role == TensorSpec::Role::state)
      written.add(static_cast<TensorId>(i));
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
      const auto role = program.spec(id).role;
      if (role == TensorSpec::Role::input || role == TensorSpec::Role::state)
        return bad_input(fmt::format("{}: writes the {} tensor '{}'", call.op,
                                     role == TensorSpec::Role::input ? "input" : "state",
                                     program.spec(id).name));
      // A tensor written twice would lose what was judged first.
      if (written.contains(id))
        return bad_input(
            fmt::format("{}: tensor '{}' is written a second time", call.op, program.spec(id).name));
      written.add(id);
    }
  }
  for (const Carry& carry : program.carries) {
    const TensorSpec &from = program.spec(carry.from), &to = program.spec(carry.to);
    if (from.dtype != to.dtype || from.shape != to.shape || from.strides != to.strides ||
        to.role != TensorSpec::Role::state)
      return bad_input(
          fmt::format("'{}' cannot be carried to '{}': same dtype, shape and strides are needed, and a "
                      "state to carry to",
                      from.name, to.name));
  }
  return {};
}

}  // namespace parity
